// The algorithms of collectives: each is a function of facts about the call, the devices and the
// buffers, which returns a rank's schedule. list.h has a line for each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/collective.h"
#include "collectives/schedule/schedule.h"
#include "collectives/session/copy_lanes.h"
#include "team/nodes.h"

namespace duet {

// What schedules depend on; the same on every rank but for `rank` and what is said to be the
// rank's.
struct AlgorithmInput {
  Collective collective;
  int rank = 0, ranks = 1;
  CopyLanes copying;  // a schedule may use lanes 0 to copying.count

  bool in_place = false;      // this rank's buffers
  bool aligned_alike = true;  // the source and the target of this rank's own part, to 16 bytes
  bool any_swaps = false;     // some rank's all_to_all is in place
  bool all_add = true;        // all ranks' devices and buffers allow additions in flight
  int units = 1 << 20;        // compute units of the smallest device
  // By rank: how its own part of its send buffer is aligned, in bytes past 16. Empty: all are.
  std::vector<int> shifts = {};
  // Of the second half of an all_reduce: the first half may end on one rank long before it does on
  // another.
  bool out_of_step = false;

  // Over several nodes; nullptr: one. The map is uniform.
  const NodeMap* nodes = nullptr;
  bool kernel_moves = false;  // within nodes a kernel moves, instead of copy engines

  // Chosen by tests and models; 0: by the algorithm.
  std::uint64_t largest_piece = 0, defer_bytes = 0;
  int blocks = 0;
};

// What an algorithm does of an all_reduce, or over nodes also of a broadcast.
enum class Half {
  none,  // all of it, or it is for other collectives
  // In one node each rank's part is in its receive buffer then, all ranks have come to the call,
  // and nothing reads that part of any receive buffer. Over nodes a rank's part is where it
  // belongs, and of a broadcast the ranks of the root's node, which have the parts, know that all
  // of them have come.
  first,
  second,  // from there on
};

struct Algorithm {
  std::string_view name;                                  // as DUET_ALGORITHM takes it
  bool (*fits)(const AlgorithmInput& input);              // see fits() below
  RankSchedule (*schedule)(const AlgorithmInput& input);  // of input.rank; where it fits
  Half half = Half::none;
  bool over_nodes = false;  // else of one node
  // Of a first half: up to so many ranks end it at about the same time.
  int most_in_step = 1;
};

// For Algorithm::fits and Algorithm::schedule: of these kinds; by a class whose schedule() it is.
template <CollectiveKind... kinds>
bool is_of(const AlgorithmInput& input) {
  return ((input.collective.kind == kinds) || ...);
}
template <class Maker>
RankSchedule made_by(const AlgorithmInput& input) {
  return Maker(input).schedule();
}

// Whether the algorithm has a schedule for the call: Algorithm::fits says so, and over_nodes is as
// the call needs it.
bool fits(const Algorithm& algorithm, const AlgorithmInput& input);

#define DUET_ALGORITHM(function) Algorithm function();
#include "collectives/schedule/algorithms/list.h"
#undef DUET_ALGORITHM

const std::vector<Algorithm>& all_algorithms();

// That of the environment variable DUET_ALGORITHM; nullptr: none is set. Throws UsageError for a
// name that no algorithm has.
const Algorithm* chosen_algorithm();
// Likewise, where it fits; where it does not, `why_not` says so.
const Algorithm* chosen_algorithm(const AlgorithmInput& input, std::string& why_not);

// What a rank tells the others of its choice, and whether all ranks have made the same one: throws
// BadArgument.
std::string choice_text();
void expect_same_choice(const std::vector<std::string>& texts);

}  // namespace duet
