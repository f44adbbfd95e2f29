#include "collectives/nodes/gather_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/nodes/messages.h"
#include "collectives/schedule/local_copy.h"

namespace duet {

std::vector<ByteRange> equal_parts(std::uint64_t bytes, int ranks) {
  std::vector<ByteRange> parts;
  for (int rank = 0; rank < ranks; ++rank) {
    parts.push_back({static_cast<std::uint64_t>(rank) * bytes, bytes});
  }
  return parts;
}

GatherPlan::GatherPlan(NodeRank& rank, const Span& own, const Span& recv,
                       std::vector<ByteRange> parts, SideStreams& lanes, MoveBy by,
                       const MakeWire& make_wire, Watchdog& watchdog, std::uint64_t largest_message)
    : peers_(rank.in_node, recv),
      in_node_(peers_, rank),
      lanes_(lanes),
      own_(own),
      parts_(std::move(parts)),
      moves_(rank.whole.device, lanes, by),
      watched_(watchdog, peers_.waits()) {
  std::uint64_t bytes = 0;
  for (const ByteRange& each : parts_) bytes = std::max(bytes, each.bytes);
  const std::uint64_t largest =
      largest_message > 0 ? largest_message : message_for(bytes, rank.node_size());
  first_messages_ = cut_into_messages(bytes, largest, true);
  messages_ = cut_into_messages(bytes, largest, false);
  wire_ = make_wire(rank, traffic(rank));
  for (const WireMessage& each : traffic(rank).messages) {
    ++wire_messages_;
    for (const WirePiece& piece : each.pieces) add_network_bytes(piece.source.bytes);
  }
  plan_own(rank);
  pass_on(rank);
  moves_.prepare();
}

std::vector<ByteRange> GatherPlan::messages(int rank, int distance) const {
  std::vector<ByteRange> own = distance == 1 ? first_messages_ : messages_;
  const std::uint64_t bytes = part(rank).bytes;
  for (ByteRange& each : own) {
    const std::uint64_t begin = std::min(each.begin, bytes);
    each = {begin, std::min(each.bytes, bytes - begin)};
  }
  return own;
}

// Node by node: at a time all ranks send to nodes at one distance, and each receives from one.
WireTraffic GatherPlan::traffic(const NodeRank& rank) const {
  WireTraffic traffic;
  traffic.region = peers_.recv(rank.local);
  traffic.sources = {own_};
  const std::uint64_t begin = part(rank.whole.index).begin;
  for (int distance = 1; distance < rank.nodes(); ++distance) {
    for (const ByteRange& now : messages(rank.whole.index, distance)) {
      const Span source = own_.slice(now.begin, now.bytes);
      traffic.messages.push_back({rank.node_after(distance), {{source, begin + now.begin}}, false});
    }
    const int from = rank.map.rank(rank.node_before(distance), rank.local);
    for (const ByteRange& now : messages(from, distance)) traffic.arrivals.push_back({now.bytes});
  }
  return traffic;
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

void GatherPlan::plan_own(const NodeRank& rank) {
  const ByteRange& now = part(rank.whole.index);
  const Span target = peers_.recv(rank.local).slice(now.begin, now.bytes);
  if (target.data != own_.data && now.bytes > 0) {
    local_.push_back({target, own_, Executor::kernel, {}});
    local_.back().shape = shape_of(choose_local_copy(local_));
  }
  if (rank.node_size() == 1) return;
  moves_.add({{}, own_, at_others(rank, now.begin, now.bytes), {}});
  add_wire_bytes(now.bytes * static_cast<std::uint64_t>(rank.node_size() - 1));
}

// In the order in which messages come. Alone on its node a rank only waits for them.
void GatherPlan::pass_on(const NodeRank& rank) {
  std::size_t message = 0;
  for (int distance = 1; distance < rank.nodes(); ++distance) {
    const int from = rank.map.rank(rank.node_before(distance), rank.local);
    const std::uint64_t begin = part(from).begin;
    for (const ByteRange& now : messages(from, distance)) {
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

// The network does not wait for the node's other ranks.
void GatherPlan::enqueue(Stream& stream) {
  if (!in_node_.ready.signals.empty()) stream.handshake(in_node_.ready);
  wire_->begin(stream);
  for (std::size_t i = 0; i < wire_messages_; ++i) wire_->enqueue(stream, i);
  if (!in_node_.may_write.waits.empty()) stream.handshake(in_node_.may_write);
  const int side = moves_.side_lanes();
  const int all = side + static_cast<int>(local_.size());
  lanes_.fork(stream, all);
  for (const Copy& copy : local_) lanes_.at(side).copy(copy);
  moves_.enqueue(stream);
  lanes_.join(stream, all);
  if (!arrivals_.waits.empty()) stream.handshake(arrivals_);
  wire_->end(stream);
  if (!in_node_.done.signals.empty()) stream.handshake(in_node_.done);
}

std::string GatherPlan::algorithm() const {
  return fmt::format("{}; {} in the node", wire_->description(), moves_.description());
}

}  // namespace duet
