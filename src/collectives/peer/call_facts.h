// What ranks tell each other about their buffers and devices before they plan a collective.
#pragma once

#include <string>
#include <vector>

#include "collectives/engine.h"
#include "collectives/schedule/algorithms/algorithm.h"

namespace duet {

struct CallFacts {
  bool swaps = false;  // its all_to_all is in place
  bool adds = false;   // its device and buffers allow additions in flight
  bool wants_to_add = false;
  int shift = 0;                // of what it reduces of its own, in bytes past 16
  int units = 1;                // compute units of its device
  std::string algorithm = "-";  // DUET_ALGORITHM

  std::string text() const;
  static CallFacts of(const std::string& text);
  static std::vector<CallFacts> of_all(const std::vector<std::string>& texts);
};

// This rank's.
CallFacts call_facts(const Rank& rank, const Collective& collective,
                     const CollectiveBuffers& buffers, bool wants_to_add);

// `facts`: of all ranks, by rank. Throws BadArgument where ranks chose different algorithms.
AlgorithmInput algorithm_input(const Rank& rank, const Collective& collective,
                               const CollectiveBuffers& buffers, CopyLanes copying,
                               const std::vector<CallFacts>& facts);

}  // namespace duet
