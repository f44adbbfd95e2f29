// all_gather over nodes: each rank sends its part to its column, and what comes goes on to the
// other ranks of its node. Rails and copy engines work at the same time. It is also the second half
// of an all_reduce, and of a broadcast, whose root has given each rank of its node a part, so that
// all rails of the node are used.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/partition.h"
#include "collectives/schedule/algorithms/messages.h"
#include "collectives/schedule/algorithms/node_moves.h"

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

class NodesGather : public NodeSchedule {
 public:
  explicit NodesGather(const AlgorithmInput& input)
      : NodeSchedule(input), parts_(gathered_parts(input)) {
    for (const ByteRange& each : parts_) most_ = std::max(most_, each.bytes);
    message_bytes_ =
        input.largest_piece > 0 ? input.largest_piece : message_for(most_, place().node_size());
  }

  // The network does not wait for the node's other ranks.
  RankSchedule schedule() {
    use_handshakes();
    use_wire(all_messages());
    made().algorithm = fmt::format("{}; {}", kNetworkText, NodeMoves::text(input()));
    const bool waits_for_ready = !is_in_roots_node();
    if (waits_for_ready) signal_ready();
    begin_wire();
    send_all();
    if (waits_for_ready) await_ready();
    NodeMoves moves(*this, 1 + messages().size());
    const int side = moves.side_lanes() + (is_local() ? 1 : 0);
    writer().fork(1, side);
    if (is_local())
      copy_local(side, received(rank(), rank(), own()), source(own()), input().aligned_alike);
    moves.begin();
    if (!peers().empty()) pass_on_all(moves);
    writer().join(1, side);
    if (peers().empty()) handshake({}, all_come());
    end_wire();
    signal_done();
    await_done();
    return take();
  }

 private:
  const ByteRange& part(int of) const { return parts_[index_of(of)]; }
  // Where a broadcast's root has waited for all other ranks of its node, and then told them so.
  bool is_in_roots_node() const {
    const Collective& c = input().collective;
    return c.kind == CollectiveKind::broadcast && place().map.node(c.root) == place().node;
  }
  bool is_local() const { return sends_own(input()) && !input().in_place && own().bytes > 0; }

  // The messages of a rank's part to a node at this distance. They are as many for all ranks, some
  // perhaps without bytes.
  std::vector<ByteRange> pieces(int of, int distance) const {
    const std::uint64_t bytes = part(of).bytes;
    std::vector<ByteRange> all = cut_into_messages(most_, message_bytes_, distance == 1);
    for (ByteRange& each : all) {
      const std::uint64_t begin = std::min(each.begin, bytes);
      each = {begin, std::min(each.bytes, bytes - begin)};
    }
    return all;
  }

  // Ranges of a part: all of this rank's, where it is, and where a rank's goes.
  ByteRange own() const { return {0, part(rank()).bytes}; }
  Place source(const ByteRange& range) const {
    if (!sends_own(input())) return received(rank(), rank(), range);
    const bool all_is_own = input().collective.kind == CollectiveKind::all_gather;
    const std::uint64_t first = all_is_own ? 0 : part(rank()).begin;
    return {BufferRole::send, rank(), first + range.begin, range.bytes};
  }
  Place received(int at, int from, const ByteRange& range) const {
    return {BufferRole::recv, at, part(from).begin + range.begin, range.bytes};
  }

  // Node by node: at a time all ranks send to nodes at one distance, and each receives from one.
  std::vector<StepMessage> all_messages() const {
    std::vector<StepMessage> all;
    for (int distance = 1; distance < place().nodes(); ++distance) {
      StepMessage message = column_message(distance);
      const std::vector<ByteRange> goes = pieces(rank(), distance);
      const std::vector<ByteRange> comes = pieces(message.from, distance);
      for (std::size_t i = 0; i < goes.size(); ++i) {
        message.pieces = {{source(goes[i]), received(message.to, rank(), goes[i])}};
        message.arrivals = {comes[i].bytes};
        all.push_back(message);
      }
    }
    return all;
  }

  // The own part, and the others in the order in which they come.
  void pass_on_all(NodeMoves& moves) {
    const auto pass_on = [&](std::vector<SemaphoreAt> waits, const Place& source, int from,
                             const ByteRange& range) {
      NodeMove move{std::move(waits), source, {}, {}};
      for (const int peer : peers()) move.targets.push_back(received(peer, from, range));
      moves.add(std::move(move));
    };
    pass_on({}, source(own()), rank(), own());
    int message = 0;
    for (int distance = 1; distance < place().nodes(); ++distance) {
      const int from = column_message(distance).from;
      for (const ByteRange& now : pieces(from, distance)) {
        pass_on({come(message++)}, received(rank(), from, now), from, now);
      }
    }
  }

  const std::vector<ByteRange> parts_;          // of receive buffers, by rank
  std::uint64_t most_ = 0, message_bytes_ = 0;  // of a part, and of a message
};

// The first half of a broadcast.
RankSchedule spread_in_node(const AlgorithmInput& input) {
  NodeSchedule to(input);
  to.use_handshakes();
  to.made().algorithm = "the root's node has a part each";
  const int root = input.collective.root;
  if (to.place().map.node(root) != to.place().node) return to.take();
  if (input.rank != root) {
    to.handshake({to.ready(root, input.rank)}, {to.done(input.rank, root)});
    return to.take();
  }
  to.await_ready();
  NodeMoves moves(to, 1);
  const int side = moves.side_lanes();
  to.writer().fork(1, side);
  moves.begin();
  const std::vector<ByteRange> parts = gathered_parts(input);
  for (const int peer : to.peers()) {
    const auto [begin, bytes] = parts[index_of(peer)];
    moves.add(
        {{}, {BufferRole::send, root, begin, bytes}, {{BufferRole::recv, peer, begin, bytes}}, {}});
  }
  to.writer().join(1, side);
  to.signal_done();
  return to.take();
}

}  // namespace

Algorithm nodes_gather() {
  return {"nodes-gather",
          is_of<CollectiveKind::all_gather, CollectiveKind::all_reduce, CollectiveKind::broadcast>,
          made_by<NodesGather>, Half::second, true};
}

Algorithm nodes_spread() {
  return {"nodes-spread", is_of<CollectiveKind::broadcast>, spread_in_node, Half::first, true};
}

}  // namespace duet
