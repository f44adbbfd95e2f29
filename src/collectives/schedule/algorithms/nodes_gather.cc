// all_gather over nodes: each rank sends its part to its column, and what comes goes on to the
// other ranks of its node. Rails and copy engines work at the same time. It is also the second half
// of an all_reduce, and of a broadcast, whose root has given each rank of its node a part, so that
// all rails of the node are used.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/partition.h"
#include "collectives/schedule/algorithms/messages.h"
#include "collectives/schedule/algorithms/node_schedule.h"
#include "collectives/schedule/local_copy.h"

namespace duet {
namespace {

// Of receive buffers, by rank. Of a broadcast the ranks of other nodes than the root's have none.
std::vector<ByteRange> gathered_parts(const AlgorithmInput& input) {
  const Collective& c = input.collective;
  std::vector<ByteRange> parts(index_of(input.ranks));
  for (int rank = 0; rank < input.ranks; ++rank) {
    ByteRange& part = parts[index_of(rank)];
    if (c.kind == CollectiveKind::all_gather) {
      const std::uint64_t bytes = send_bytes(c, rank, input.ranks);
      part = {index_of(rank) * bytes, bytes};
    } else if (c.kind == CollectiveKind::all_reduce) {
      part = reduced_part(c, rank, input.ranks);
    } else if (input.nodes->node(rank) == input.nodes->node(c.root)) {
      const auto [begin, count] =
          part_of(c.count, input.nodes->local(rank), input.nodes->node_size());
      part = {begin * size_of(c.dtype), count * size_of(c.dtype)};
    }
  }
  return parts;
}

bool sends_own(const AlgorithmInput& input) {
  const Collective& c = input.collective;
  return c.kind == CollectiveKind::all_gather ||
         (c.kind == CollectiveKind::broadcast && input.rank == c.root);
}

class NodesGather {
 public:
  explicit NodesGather(const AlgorithmInput& input)
      : input_(input), to_(input), place_(to_.place()), parts_(gathered_parts(input)) {
    std::uint64_t bytes = 0;
    for (const ByteRange& each : parts_) bytes = std::max(bytes, each.bytes);
    const std::uint64_t largest =
        input.largest_piece > 0 ? input.largest_piece : message_for(bytes, place_.node_size());
    first_messages_ = cut_into_messages(bytes, largest, true);
    messages_ = cut_into_messages(bytes, largest, false);
  }

  // The network does not wait for the node's other ranks.
  RankSchedule schedule() {
    to_.use_handshakes();
    to_.use_wire(all_messages());
    to_.schedule().algorithm = fmt::format("{}; {}", kNetworkText, NodeMoves::text(input_));
    const bool waits_for_ready = !is_in_roots_node();
    if (waits_for_ready) to_.signal_ready();
    to_.begin_wire();
    for (int i = 0; i < static_cast<int>(to_.messages().size()); ++i) to_.send(i);
    if (waits_for_ready) to_.await_ready();
    NodeMoves moves(to_, 1 + to_.messages().size());
    const int side = moves.side_lanes() + (is_local() ? 1 : 0);
    to_.writer().fork(1, side);
    copy_local(side);
    moves.begin();
    if (place_.node_size() > 1) pass_on_all(moves);
    to_.writer().join(1, side);
    if (place_.node_size() == 1) to_.await_messages();
    to_.end_wire();
    to_.end_writes();
    return to_.take();
  }

 private:
  const ByteRange& part(int rank) const { return parts_[index_of(rank)]; }
  // Where a broadcast's root has waited for all other ranks of its node, and then told them so.
  bool is_in_roots_node() const {
    const Collective& c = input_.collective;
    return c.kind == CollectiveKind::broadcast && place_.map.node(c.root) == place_.node;
  }
  bool is_local() const {
    return sends_own(input_) && !input_.in_place && part(input_.rank).bytes > 0;
  }

  // The messages of the rank's part to a node at this distance. They are as many for all ranks,
  // some perhaps without bytes.
  std::vector<ByteRange> messages(int rank, int distance) const {
    std::vector<ByteRange> own = distance == 1 ? first_messages_ : messages_;
    const std::uint64_t bytes = part(rank).bytes;
    for (ByteRange& each : own) {
      const std::uint64_t begin = std::min(each.begin, bytes);
      each = {begin, std::min(each.bytes, bytes - begin)};
    }
    return own;
  }

  Place own(const ByteRange& range) const {
    if (!sends_own(input_)) return received(input_.rank, input_.rank, range);
    const bool all_is_own = input_.collective.kind == CollectiveKind::all_gather;
    const std::uint64_t first = all_is_own ? 0 : part(input_.rank).begin;
    return {BufferRole::send, input_.rank, first + range.begin, range.bytes};
  }
  Place received(int at, int from, const ByteRange& range) const {
    return {BufferRole::recv, at, part(from).begin + range.begin, range.bytes};
  }

  // Node by node: at a time all ranks send to nodes at one distance, and each receives from one.
  std::vector<StepMessage> all_messages() const {
    std::vector<StepMessage> all;
    for (int distance = 1; distance < place_.nodes(); ++distance) {
      const int to = to_.column(place_.node_after(distance));
      const int from = to_.column(place_.node_before(distance));
      const std::vector<ByteRange> goes = messages(input_.rank, distance);
      const std::vector<ByteRange> comes = messages(from, distance);
      for (std::size_t i = 0; i < goes.size(); ++i) {
        const StepMessagePiece piece{own(goes[i]), received(to, input_.rank, goes[i])};
        all.push_back({to, from, {piece}, {comes[i].bytes}});
      }
    }
    return all;
  }

  void copy_local(int lane) {
    if (!is_local()) return;
    const ByteRange all{0, part(input_.rank).bytes};
    Step step;
    step.lane = lane;
    const LocalCopyMethod how = choose_local_copy(all.bytes, input_.aligned_alike, false);
    step.copies = {
        {received(input_.rank, input_.rank, all), own(all), Executor::kernel, shape_of(how)}};
    to_.writer().add(std::move(step));
  }

  void pass_on(NodeMoves& moves, std::vector<SemaphoreAt> waits, const Place& source, int from,
               const ByteRange& range) {
    NodeMove move{std::move(waits), source, {}, {}};
    for (int step = 1; step < place_.node_size(); ++step) {
      move.targets.push_back(received(to_.peer(step), from, range));
    }
    moves.add(std::move(move));
  }

  // The own part, and the others in the order in which they come.
  void pass_on_all(NodeMoves& moves) {
    const ByteRange all{0, part(input_.rank).bytes};
    pass_on(moves, {}, own(all), input_.rank, all);
    int message = 0;
    for (int distance = 1; distance < place_.nodes(); ++distance) {
      const int from = to_.column(place_.node_before(distance));
      for (const ByteRange& now : messages(from, distance)) {
        pass_on(moves, {to_.come(message++)}, received(input_.rank, from, now), from, now);
      }
    }
  }

  const AlgorithmInput& input_;
  NodeSchedule to_;
  const NodePlace& place_;
  const std::vector<ByteRange> parts_;  // of receive buffers, by rank
  // Of the largest part: to the nearest node, and to others.
  std::vector<ByteRange> first_messages_, messages_;
};

// The first half of a broadcast.
RankSchedule spread_in_node(const AlgorithmInput& input) {
  NodeSchedule to(input);
  const NodePlace& place = to.place();
  to.use_handshakes();
  to.schedule().algorithm = "the root's node has a part each";
  const int root = input.collective.root;
  if (place.map.node(root) != place.node) return to.take();
  if (input.rank != root) {
    to.handshake({to.ready(root, input.rank)}, {});
    to.handshake({}, {to.done(input.rank, root)});
    return to.take();
  }
  std::vector<SemaphoreAt> may_write, written;
  for (int step = 1; step < place.node_size(); ++step) {
    may_write.push_back(to.ready(root, to.peer(step)));
    written.push_back(to.done(to.peer(step), root));
  }
  to.handshake({}, may_write);
  NodeMoves moves(to, 1);
  const int side = moves.side_lanes();
  to.writer().fork(1, side);
  moves.begin();
  const std::vector<ByteRange> parts = gathered_parts(input);
  for (int step = 1; step < place.node_size(); ++step) {
    const auto [begin, bytes] = parts[index_of(to.peer(step))];
    moves.add({{},
               {BufferRole::send, root, begin, bytes},
               {{BufferRole::recv, to.peer(step), begin, bytes}},
               {}});
  }
  to.writer().join(1, side);
  to.handshake(written, {});
  return to.take();
}

}  // namespace

Algorithm nodes_gather() {
  return {"nodes-gather",
          [](const AlgorithmInput& in) {
            const CollectiveKind kind = in.collective.kind;
            return kind == CollectiveKind::all_gather || kind == CollectiveKind::all_reduce ||
                   kind == CollectiveKind::broadcast;
          },
          [](const AlgorithmInput& in) { return NodesGather(in).schedule(); },
          Half::second,
          1,
          true};
}

Algorithm nodes_spread() {
  return {"nodes-spread",
          [](const AlgorithmInput& in) { return in.collective.kind == CollectiveKind::broadcast; },
          spread_in_node,
          Half::first,
          1,
          true};
}

}  // namespace duet
