// What fits into a GPU's launch queue while the start gate is closed.
#pragma once

#include <algorithm>
#include <cstddef>

#include "device/graph.h"
#include "team/team.h"

namespace duet {

// How many calls of so many operations may wait; 0: a single one may fill the queue, so that a Work
// that makes it is host_driven(). The operations of a graph count each: 10 graphs of 250 blocked on
// an H200 (CUDA 13.0), and one of a Qwen3 of 36 blocks; 2 of 250 did not.
inline int calls_queued(std::size_t operations) {
  constexpr std::size_t kLaunchQueue = 512;
  return static_cast<int>(kLaunchQueue / std::max<std::size_t>(1, operations));
}

// The operations of the largest of all ranks' graphs. Collective, inside Team::each().
std::size_t largest_graph(Rank& rank, const Graph& own, double deadline_seconds);

}  // namespace duet
