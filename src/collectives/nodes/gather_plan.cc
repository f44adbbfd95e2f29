#include "collectives/nodes/gather_plan.h"

#include <fmt/format.h>

#include "collectives/nodes/messages.h"
#include "collectives/peer/local_copy.h"

namespace duet {

GatherPlan::GatherPlan(NodeRank& rank, const CollectiveBuffers& buffers, SideStreams& lanes,
                       MoveBy by, const MakeWire& make_wire, Watchdog& watchdog,
                       std::uint64_t largest_message)
    : peers_(rank.in_node, buffers.recv),
      lanes_(lanes),
      chunk_(buffers.send.bytes),
      moves_(rank.whole.device, lanes, by),
      watched_(watchdog, peers_.waits()) {
  const std::uint64_t largest =
      largest_message > 0 ? largest_message : message_for(chunk_, rank.node_size());
  first_messages_ = cut_into_messages(chunk_, largest, true);
  messages_ = cut_into_messages(chunk_, largest, false);
  WireTraffic traffic;
  traffic.region = buffers.recv;
  traffic.sources = {buffers.send};
  send_own(rank, buffers, traffic);
  wire_ = make_wire(rank, traffic);
  plan_own(rank, buffers);
  pass_on(rank);
  moves_.prepare();
  plan_handshakes(rank);
}

// Node by node: at a time all ranks send to nodes at one distance, and each receives from one.
void GatherPlan::send_own(const NodeRank& rank, const CollectiveBuffers& buffers,
                          WireTraffic& traffic) {
  const std::uint64_t begin = chunk_ * static_cast<std::uint64_t>(rank.whole.index);
  for (int distance = 1; distance < rank.nodes(); ++distance) {
    for (const ByteRange& now : messages(distance)) {
      const Span source = buffers.send.slice(now.begin, now.bytes);
      traffic.messages.push_back({rank.node_after(distance), {{source, begin + now.begin}}, false});
      add_network_bytes(now.bytes);
    }
  }
}

std::vector<Span> GatherPlan::at_others(const NodeRank& rank, std::uint64_t offset,
                                        std::uint64_t bytes) const {
  std::vector<Span> spans;
  for (int step = 1; step < rank.node_size(); ++step) {
    const int to = (rank.local + step) % rank.node_size();
    spans.push_back(peers_.recv(to).slice(offset, bytes));
  }
  return spans;
}

void GatherPlan::plan_own(const NodeRank& rank, const CollectiveBuffers& buffers) {
  const std::uint64_t begin = chunk_ * static_cast<std::uint64_t>(rank.whole.index);
  const Span own = peers_.recv(rank.local).slice(begin, chunk_);
  if (own.data != buffers.send.data) {
    local_.push_back({own, buffers.send, Executor::kernel, {}});
    local_.back().shape = shape_of(choose_local_copy(local_, false));
  }
  if (rank.node_size() == 1) return;
  moves_.add({{}, buffers.send, at_others(rank, begin, chunk_), {}});
  add_wire_bytes(chunk_ * static_cast<std::uint64_t>(rank.node_size() - 1));
}

// In the order in which messages come. Alone on its node a rank only waits for them.
void GatherPlan::pass_on(const NodeRank& rank) {
  std::size_t message = 0;
  for (int distance = 1; distance < rank.nodes(); ++distance) {
    const int from = rank.map.rank(rank.node_before(distance), rank.local);
    const std::uint64_t begin = chunk_ * static_cast<std::uint64_t>(from);
    for (const ByteRange& now : messages(distance)) {
      const Semaphore come = wire_->come(message++);
      const Span source = peers_.recv(rank.local).slice(begin + now.begin, now.bytes);
      if (rank.node_size() == 1) {
        arrivals_.waits.push_back(come);
        continue;
      }
      moves_.add({{come}, source, at_others(rank, begin + now.begin, now.bytes), {}});
      add_wire_bytes(now.bytes * static_cast<std::uint64_t>(rank.node_size() - 1));
    }
  }
}

void GatherPlan::plan_handshakes(const NodeRank& rank) {
  for (int step = 1; step < rank.node_size(); ++step) {
    const int peer = (rank.local + step) % rank.node_size();
    ready_.signals.push_back(peers_.ready_to(peer));
    may_write_.waits.push_back(peers_.ready_from(peer));
    done_.signals.push_back(peers_.done_to(peer));
    done_.waits.push_back(peers_.done_from(peer));
  }
}

// The network does not wait for the node's other ranks.
void GatherPlan::enqueue(Stream& stream) {
  if (!ready_.signals.empty()) stream.handshake(ready_);
  wire_->begin(stream);
  if (!may_write_.waits.empty()) stream.handshake(may_write_);
  const int side = moves_.side_lanes();
  const int all = side + static_cast<int>(local_.size());
  lanes_.fork(stream, all);
  for (const Copy& copy : local_) lanes_.at(side).copy(copy);
  moves_.enqueue(stream);
  lanes_.join(stream, all);
  if (!arrivals_.waits.empty()) stream.handshake(arrivals_);
  wire_->end(stream);
  if (!done_.signals.empty()) stream.handshake(done_);
}

std::string GatherPlan::algorithm() const {
  return fmt::format("{}; {} in the node", wire_->description(), moves_.description());
}

}  // namespace duet
