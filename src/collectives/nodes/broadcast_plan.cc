#include "collectives/nodes/broadcast_plan.h"

#include <fmt/format.h>

namespace duet {

NodesBroadcastPlan::NodesBroadcastPlan(NodeRank& rank, const Collective& collective,
                                       const CollectiveBuffers& buffers, SideStreams& lanes,
                                       MoveBy by, const MakeWire& make_wire, Watchdog& watchdog,
                                       std::uint64_t largest_message)
    : peers_(rank.in_node, buffers.recv),
      lanes_(lanes),
      moves_(rank.whole.device, lanes, by),
      gather_(rank, own_part(rank, collective, buffers), buffers.recv, parts(rank, collective),
              lanes, by, make_wire, watchdog, largest_message),
      watched_(watchdog, peers_.waits()) {
  if (rank.map.node(collective.root) != rank.node) return;
  const int root = rank.map.local(collective.root);
  if (rank.local != root) {
    before_.signals.push_back(peers_.ready_to(root));
    after_.waits.push_back(peers_.done_from(root));
    return;
  }
  const std::vector<ByteRange> all = parts(rank, collective);
  for (int step = 1; step < rank.node_size(); ++step) {
    const int to = (rank.local + step) % rank.node_size();
    const ByteRange& now = all[static_cast<std::size_t>(rank.map.rank(rank.node, to))];
    before_.waits.push_back(peers_.ready_from(to));
    moves_.add({{},
                buffers.send.slice(now.begin, now.bytes),
                {peers_.recv(to).slice(now.begin, now.bytes)},
                {}});
    after_.signals.push_back(peers_.done_to(to));
    add_wire_bytes(now.bytes);
  }
  moves_.prepare();
}

std::vector<ByteRange> NodesBroadcastPlan::parts(const NodeRank& rank,
                                                 const Collective& collective) {
  std::vector<ByteRange> parts(static_cast<std::size_t>(rank.whole.size));
  const int node = rank.map.node(collective.root);
  const std::uint64_t size = size_of(collective.dtype);
  for (int local = 0; local < rank.node_size(); ++local) {
    const ElementRange part = part_of(collective.count, local, rank.node_size());
    parts[static_cast<std::size_t>(rank.map.rank(node, local))] = {part.begin * size,
                                                                   part.count * size};
  }
  return parts;
}

// The root's lies in what it sends, the others' in what they receive.
Span NodesBroadcastPlan::own_part(const NodeRank& rank, const Collective& collective,
                                  const CollectiveBuffers& buffers) {
  const ByteRange own = parts(rank, collective)[static_cast<std::size_t>(rank.whole.index)];
  const bool root = rank.whole.index == collective.root;
  return (root ? buffers.send : buffers.recv).slice(own.begin, own.bytes);
}

void NodesBroadcastPlan::enqueue(Stream& stream) {
  const int side = moves_.side_lanes();
  if (!before_.waits.empty() || !before_.signals.empty()) stream.handshake(before_);
  lanes_.fork(stream, side);
  moves_.enqueue(stream);
  lanes_.join(stream, side);
  if (!after_.waits.empty() || !after_.signals.empty()) stream.handshake(after_);
  gather_.enqueue(stream);
}

std::string NodesBroadcastPlan::algorithm() const {
  return "the root's node has a part each; then " + gather_.algorithm();
}

}  // namespace duet
