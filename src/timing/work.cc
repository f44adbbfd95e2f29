#include "timing/work.h"

#include <string>

#include "core/units.h"

namespace duet {

Cost times(const Cost& cost, double iterations) {
  Cost all{iterations * cost.flop, iterations * cost.memory_bytes, iterations * cost.wire_bytes};
  for (const auto& [name, value] : cost.more) {
    all.more.set(name, ends_with(name, "_per_s") ? value : iterations * value);
  }
  return all;
}

std::size_t largest_graph(Rank& rank, const Graph& own, double deadline_seconds) {
  std::size_t largest = 0;
  for (const std::string& size :
       *rank.team.gather(rank, std::to_string(own.size()), "the other ranks to have captured",
                         deadline_seconds)) {
    largest = std::max<std::size_t>(largest, std::stoull(size));
  }
  return largest;
}

}  // namespace duet
