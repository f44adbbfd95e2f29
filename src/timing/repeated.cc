#include "timing/repeated.h"

#include <fmt/format.h>

namespace duet {

Repeated::Repeated(Work& piece, int times) : piece_(piece), times_(times) {
  if (times >= 1) return;
  throw BadArgument(fmt::format("{} {} times: expected once or more", piece.name(), times));
}

Cost Repeated::cost() const {
  Cost cost = piece_.cost();
  for (double* each : {&cost.flop, &cost.memory_bytes, &cost.wire_bytes, &cost.algorithm_bytes,
                       &cost.bus_bytes, &cost.busiest_wire_bytes, &cost.network_bytes}) {
    *each *= times_;
  }
  return cost;
}

void Repeated::enqueue(Rank& rank, Stream& stream) {
  for (int i = 0; i < times_; ++i) piece_.enqueue(rank, stream);
}

}  // namespace duet
