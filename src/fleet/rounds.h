// A round-robin tournament: rounds in which all nodes measure in pairs at the same time.
#pragma once

#include <utility>
#include <vector>

namespace duet {

// Pairs of nodes by number, the smaller one first; each node is in one pair at most.
using FleetRound = std::vector<std::pair<int, int>>;

// The fewest rounds in which each of `nodes` (2 or more) meets every other one: one less than the
// nodes, or as many where their number is odd and one pauses in each round. With `rounds` above 0
// only so many of them, spread over all, so that each node meets as many others.
std::vector<FleetRound> tournament(int nodes, int rounds = 0);

}  // namespace duet
