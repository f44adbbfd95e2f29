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

// How `dma` reduces, as DUET_REDUCTIONS says.
enum class Reductions {
  automatic,  // in flight where it was measured to be the faster way, else through slots
  slots,
  in_flight,  // wherever devices and buffers allow it
};

// Throws UsageError for a value that is none of auto, the default, slots and in-flight.
Reductions chosen_reductions();

// Whether this rank's device and buffers allow it, and the result is as exact as that of adding up
// in fp32: sums of int32 and fp32, and of other types by two ranks, where one rounding is left.
bool can_add(const Rank& rank, const Collective& collective, const CollectiveBuffers& buffers);

}  // namespace duet
