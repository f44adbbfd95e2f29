#include "timing/repeated.h"

#include <fmt/format.h>

namespace duet {

Repeated::Repeated(Work& piece, int times) : piece_(piece), times_(times) {
  if (times >= 1) return;
  throw BadArgument(fmt::format("{} {} times: expected once or more", piece.name(), times));
}

Cost Repeated::cost() const { return times(piece_.cost(), times_); }

void Repeated::enqueue(Rank& rank, Stream& stream) {
  for (int i = 0; i < times_; ++i) piece_.enqueue(rank, stream);
}

}  // namespace duet
