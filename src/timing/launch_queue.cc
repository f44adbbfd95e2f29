#include "timing/launch_queue.h"

#include <string>

namespace duet {

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
