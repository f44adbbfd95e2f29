// How a rank's bytes go to other ranks of its node in schedules over nodes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collectives/schedule/algorithms/copy_order.h"
#include "collectives/schedule/algorithms/node_schedule.h"

namespace duet {

// What waits for semaphores, copies the source, which may have no bytes, to every target, and
// signals. With signals it has one target.
struct NodeMove {
  std::vector<SemaphoreAt> waits;
  Place source;
  std::vector<Place> targets;
  std::vector<SemaphoreAt> signals;
};

// A rank's moves to others of its node, in a fixed order: by copy engines, which take the caller's
// stream and lanes 1 to side_lanes() in turns, or by one kernel on the caller's stream.
class NodeMoves {
 public:
  // `moves`: how many there are at most.
  NodeMoves(NodeSchedule& to, std::size_t moves);

  int side_lanes() const { return side_lanes_; }
  static std::string text(const AlgorithmInput& input);  // "pushes on 2 lanes in the node"

  // The lanes must have forked. The kernel stands where this is called.
  void begin();
  void add(NodeMove move);

 private:
  void add_to_kernel(NodeMove move);
  std::vector<StepCopy> copies_of(const NodeMove& move) const;

  NodeSchedule& to_;
  const int side_lanes_;
  CopyOrder order_;
  int kernel_ = -1;  // its step; -1: copy engines
  bool any_ = false;
};

// Staging slots: at each rank so many for each other rank of its node, which pushes into them.
// `full`: the piece is in the slot. `free`: the slot may be written.
class NodeSlots {
 public:
  NodeSlots(NodeSchedule& to, int count, std::uint64_t bytes);

  // The rank's piece for each rank of the node at this distance, to the rank of its own node in
  // that one's column. Where piece_for() returns nullopt, nothing is pushed, waited for or
  // signalled.
  void push(NodeMoves& moves, int distance, int slot,
            const std::function<std::optional<Place>(int receiver)>& piece_for) const;

  // At this rank: what a peer has pushed, when it has, and what tells the peer to go on.
  Place at(int source, int slot, std::uint64_t bytes) const;
  SemaphoreAt full(int source, int slot) const { return {full_, to_.rank(), source, slot}; }
  SemaphoreAt free(int source, int slot) const { return {free_, source, to_.rank(), slot}; }

 private:
  Place at(int owner, int source, int slot, std::uint64_t bytes) const;

  const NodeSchedule& to_;
  const int count_, full_, free_;
  const std::uint64_t bytes_;
};

}  // namespace duet
