// What the algorithms of a neighbor_exchange have in common.
#pragma once

#include <array>
#include <vector>

#include "collectives/schedule/algorithms/algorithm.h"

namespace duet {

// Which chunk of its send buffer a rank sends: its first one to the rank before it, or its last one
// to the next rank.
enum class Direction { back, on };
inline constexpr std::array kDirections = {Direction::back, Direction::on};

// A rank's move in that direction; of no bytes where a chunk has none.
Move move_of(const AlgorithmInput& input, int rank, Direction direction);
// The rank whose move in that direction comes to this one.
int sender_of(const AlgorithmInput& input, int rank, Direction direction);

inline Place source_of(const Move& move) {
  return {BufferRole::send, move.from, move.from_offset, move.bytes};
}
inline Place target_of(const Move& move) {
  return {BufferRole::recv, move.to, move.to_offset, move.bytes};
}

// Of a group with one for each direction, for all ranks.
inline SemaphoreAt of_direction(int group, int owner, Direction direction) {
  return {group, owner, 0, static_cast<int>(direction)};
}

// Adds the step at which the caller's stream computes that, where it does.
void add_compute(ScheduleWriter& writer, const AlgorithmInput& input, ComputePart part);

}  // namespace duet
