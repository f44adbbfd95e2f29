// What schedules over nodes have in common. The ranks of a node map each other's memory; a wire
// carries messages between the ranks of a column.
#pragma once

#include <vector>

#include "collectives/schedule/algorithms/algorithm.h"

namespace duet {

// The rank's schedule of a call over nodes: an algorithm's, or of an all_reduce and a broadcast
// those of two halves in a row. `chosen` is used for what it does; nullptr: there is one for each
// kind.
RankSchedule schedule_over_nodes(const AlgorithmInput& input, const Algorithm* chosen = nullptr);

// A rank's schedule while it is made; algorithms derive from it. Ranks are numbers of the whole
// team; peers are the other ranks of this one's node, in the order of their local indices, from the
// next one on.
class NodeSchedule {
 public:
  explicit NodeSchedule(const AlgorithmInput& input);

  const AlgorithmInput& input() const { return input_; }
  const NodePlace& place() const { return place_; }
  int rank() const { return input_.rank; }
  const std::vector<int>& peers() const { return peers_; }
  // at(peer) of each.
  template <class At>
  std::vector<SemaphoreAt> of_peers(const At& at) const {
    std::vector<SemaphoreAt> list;
    for (const int peer : peers_) list.push_back(at(peer));
    return list;
  }

  RankSchedule& made() { return schedule_; }
  ScheduleWriter& writer() { return writer_; }
  RankSchedule take() { return std::move(schedule_); }
  int add_group(SemaphoreGroup group);
  // Steps of lane 0: one that signals and one that waits, where there is something to do.
  void handshake(std::vector<SemaphoreAt> signals, std::vector<SemaphoreAt> waits);
  // A step that copies what stays with the rank.
  void copy_local(int lane, const Place& to, const Place& from, bool aligned);

  // Of ranks of a node that write into each other's receive buffers; nothing where there is one.
  //
  //   receiver  --ready-->  writer     "my receive buffer may be written"
  //   writer    --done--->  receiver   "what I had for you has arrived"
  void use_handshakes();
  void signal_ready();
  void await_ready();
  void signal_done();
  void await_done();
  SemaphoreAt ready(int owner, int peer) const { return {ready_, owner, peer, 0}; }
  SemaphoreAt done(int owner, int peer) const { return {done_, owner, peer, 0}; }

  // The wire. A message goes to the rank of this one's column that is so many nodes further, and
  // comes from the one that is so many before it.
  StepMessage column_message(int distance) const;
  void use_wire(std::vector<StepMessage> messages, bool to_incoming = false);
  const std::vector<StepMessage>& messages() const { return schedule_.wires.front().messages; }
  int message_count() const { return static_cast<int>(messages().size()); }
  void begin_wire() { call_wire(WireCall::Kind::begin, 0); }
  void send(int message) { call_wire(WireCall::Kind::send, message); }
  void send_all();
  void end_wire() { call_wire(WireCall::Kind::end, 0); }
  std::vector<SemaphoreAt> all_come() const;
  SemaphoreAt go(int message) const { return of_wire(schedule_.wires.front().go, message); }
  SemaphoreAt gone(int message) const { return of_wire(schedule_.wires.front().gone, message); }
  SemaphoreAt come(int message) const { return of_wire(schedule_.wires.front().come, message); }

 private:
  void call_wire(WireCall::Kind kind, int message);
  SemaphoreAt of_wire(int group, int message) const { return {group, rank(), 0, message}; }

  const AlgorithmInput& input_;
  const NodePlace place_;
  std::vector<int> peers_;
  RankSchedule schedule_;
  ScheduleWriter writer_{schedule_};
  int ready_ = 0, done_ = 0;
};

}  // namespace duet
