// What schedules over nodes have in common. The ranks of a node map each other's memory; a wire
// carries messages between the ranks of a column.
#pragma once

#include <string>
#include <vector>

#include "collectives/schedule/algorithms/algorithm.h"
#include "collectives/schedule/algorithms/copy_order.h"

namespace duet {

// The rank's schedule of a call over nodes: an algorithm's, or of an all_reduce and a broadcast
// those of two halves in a row. `chosen` is used for what it does; nullptr: there is one for each
// kind.
RankSchedule schedule_over_nodes(const AlgorithmInput& input, const Algorithm* chosen = nullptr);

// A rank's schedule while it is made. Ranks are numbers of the whole team; a peer `step` away is
// the rank of this one's node whose local index is so much higher.
class NodeSchedule {
 public:
  explicit NodeSchedule(const AlgorithmInput& input);

  const AlgorithmInput& input() const { return input_; }
  const NodePlace& place() const { return place_; }
  int rank() const { return input_.rank; }
  int peer(int step) const;
  // The rank of this one's column.
  int column(int node) const { return place_.map.rank(node, place_.local); }

  RankSchedule& schedule() { return schedule_; }
  ScheduleWriter& writer() { return writer_; }
  RankSchedule take() { return std::move(schedule_); }
  int add_group(SemaphoreGroup group);
  // A step of lane 0.
  void handshake(std::vector<SemaphoreAt> signals, std::vector<SemaphoreAt> waits);

  // Of ranks of a node that write into each other's receive buffers; nothing where there is one.
  //
  //   receiver  --ready-->  writer     "my receive buffer may be written"
  //   writer    --done--->  receiver   "what I had for you has arrived"
  void use_handshakes();
  void signal_ready();
  void await_ready();
  void end_writes();  // signals `done`, and waits for it
  SemaphoreAt ready(int owner, int peer) const { return {ready_, owner, peer, 0}; }
  SemaphoreAt done(int owner, int peer) const { return {done_, owner, peer, 0}; }

  // The wire.
  void use_wire(std::vector<StepMessage> messages, bool to_incoming = false);
  const std::vector<StepMessage>& messages() const { return schedule_.wires.front().messages; }
  void begin_wire() { call_wire(WireCall::Kind::begin, 0); }
  void send(int message) { call_wire(WireCall::Kind::send, message); }
  void end_wire() { call_wire(WireCall::Kind::end, 0); }
  void await_messages();  // waits for `come` of all
  SemaphoreAt go(int message) const { return of_wire(schedule_.wires.front().go, message); }
  SemaphoreAt gone(int message) const { return of_wire(schedule_.wires.front().gone, message); }
  SemaphoreAt come(int message) const { return of_wire(schedule_.wires.front().come, message); }

 private:
  void call_wire(WireCall::Kind kind, int message);
  SemaphoreAt of_wire(int group, int message) const { return {group, rank(), 0, message}; }

  const AlgorithmInput& input_;
  const NodePlace place_;
  RankSchedule schedule_;
  ScheduleWriter writer_{schedule_};
  int ready_ = 0, done_ = 0;
};

// Staging slots: at each rank so many for each other rank of its node, which pushes into them.
// `full`: the piece is in the slot. `free`: the slot may be written.
class NodeSlots {
 public:
  NodeSlots(NodeSchedule& to, int count, std::uint64_t bytes);

  Place at(int owner, int source, int slot, std::uint64_t bytes) const;
  SemaphoreAt full(int owner, int source, int slot) const { return {full_, owner, source, slot}; }
  SemaphoreAt free(int owner, int receiver, int slot) const {
    return {free_, owner, receiver, slot};
  }

 private:
  const NodeMap& map_;
  const int count_, full_, free_;
  std::uint64_t bytes_;
};

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

}  // namespace duet
