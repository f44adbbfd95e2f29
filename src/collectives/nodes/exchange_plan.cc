#include "collectives/nodes/exchange_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/nodes/messages.h"
#include "collectives/schedule/local_copy.h"

namespace duet {
namespace {

// One is filled while one is sent and one's end is on its way back.
constexpr int kPartSlots = 3;

}  // namespace

ExchangePlan::ExchangePlan(NodeRank& rank, CollectiveBuffers buffers, SideStreams& lanes, MoveBy by,
                           const MakeWire& make_wire, Watchdog& watchdog,
                           std::uint64_t largest_piece)
    : peers_(rank.in_node, buffers.recv),
      in_node_(peers_, rank),
      lanes_(lanes),
      part_(buffers.send.bytes / static_cast<std::uint64_t>(rank.whole.size)),
      moves_(rank.whole.device, lanes, by),
      slot_lanes_(rank.whole.device, {2, false}),
      watched_(watchdog, peers_.waits()) {
  copy_first(rank, buffers);
  plan_rounds(rank, largest_piece);
  if (rank.node_size() > 1) {
    staging_.emplace(rank.in_node, kPartSlots, slot_bytes_);
    watched_staging_.emplace(watchdog, staging_->waits());
  }
  WireTraffic traffic;
  traffic.region = buffers.recv;
  traffic.sources = {buffers.send};
  if (staging_) traffic.sources.push_back(staging_->own_slots());
  for (const Round& round : rounds_) {
    traffic.messages.push_back(message(rank, buffers, round));
    traffic.arrivals.emplace_back(static_cast<std::size_t>(rank.node_size()), round.piece.bytes);
  }
  wire_ = make_wire(rank, traffic);
  plan_moves(rank, buffers);
  copy_own(rank, buffers);
  for (std::size_t i = 0; i < rounds_.size(); ++i) arrivals_.waits.push_back(wire_->come(i));
}

// A part from a rank comes to where the part for it lies, perhaps before that has gone.
void ExchangePlan::copy_first(NodeRank& rank, CollectiveBuffers& buffers) {
  rank.whole.team.all_or_none(rank.whole, "all ranks to allocate memory for what they send", [&] {
    if (buffers.send.data != buffers.recv.data || buffers.send.bytes == 0) return;
    sent_ = rank.whole.device.allocate(buffers.send.bytes);
    to_sent_ = Copy{sent_.span(), buffers.send, Executor::kernel, {}};
    to_sent_->shape = shape_of(choose_local_copy({*to_sent_}));
    buffers.send = sent_.span();
  });
}

void ExchangePlan::plan_rounds(const NodeRank& rank, std::uint64_t largest_piece) {
  pieces_ = cut_into_messages(part_, largest_piece, false);
  for (int distance = 1; distance < rank.nodes(); ++distance) {
    for (const ByteRange& piece : cut_into_messages(part_, largest_piece, distance == 1)) {
      rounds_.push_back({distance, piece, static_cast<int>(rounds_.size()) % kPartSlots});
      slot_bytes_ = std::max(slot_bytes_, piece.bytes);
      add_network_bytes(piece.bytes * static_cast<std::uint64_t>(rank.node_size()));
    }
  }
}

WireMessage ExchangePlan::message(const NodeRank& rank, const CollectiveBuffers& buffers,
                                  const Round& round) const {
  WireMessage message{rank.node_after(round.distance), {}, rank.node_size() > 1};
  const auto to = static_cast<std::uint64_t>(rank.map.rank(message.node, rank.local));
  for (int step = 0; step < rank.node_size(); ++step) {
    const int source = (rank.local + step) % rank.node_size();
    const auto from = static_cast<std::uint64_t>(rank.map.rank(rank.node, source));
    const Span own = buffers.send.slice(to * part_ + round.piece.begin, round.piece.bytes);
    const Span span =
        step == 0 ? own
                  : staging_->slot(rank.local, source, round.slot).slice(0, round.piece.bytes);
    message.pieces.push_back({span, from * part_ + round.piece.begin});
  }
  return message;
}

// This rank's pieces of a round, to those of its node that send them.
void ExchangePlan::stage(const NodeRank& rank, const CollectiveBuffers& buffers,
                         const Round& round) {
  const int node = rank.node_after(round.distance);
  Handshake full, free;
  for (int step = 1; step < rank.node_size(); ++step) {
    const int to = (rank.local + step) % rank.node_size();
    const auto receiver = static_cast<std::uint64_t>(rank.map.rank(node, to));
    const Span source = buffers.send.slice(receiver * part_ + round.piece.begin, round.piece.bytes);
    const Span slot = staging_->slot(to, rank.local, round.slot).slice(0, round.piece.bytes);
    moves_.add({{staging_->free_from(to, round.slot)},
                source,
                {slot},
                {staging_->full_to(to, round.slot)}});
    add_wire_bytes(round.piece.bytes);
    full.waits.push_back(staging_->full_from(to, round.slot));
    free.signals.push_back(staging_->free_to(to, round.slot));
  }
  const std::size_t message = full_.size();
  full_.push_back(std::move(full));
  go_.push_back({{wire_->go(message)}, {}});
  gone_.push_back({{}, {wire_->gone(message)}});
  free_.push_back(std::move(free));
}

void ExchangePlan::move_in_node(const NodeRank& rank, const CollectiveBuffers& buffers,
                                const ByteRange& piece) {
  const std::uint64_t to_offset =
      static_cast<std::uint64_t>(rank.whole.index) * part_ + piece.begin;
  for (int step = 1; step < rank.node_size(); ++step) {
    const int to = (rank.local + step) % rank.node_size();
    const auto receiver = static_cast<std::uint64_t>(rank.map.rank(rank.node, to));
    const Span source = buffers.send.slice(receiver * part_ + piece.begin, piece.bytes);
    moves_.add({{}, source, {peers_.recv(to).slice(to_offset, piece.bytes)}, {}});
    add_wire_bytes(piece.bytes);
  }
}

void ExchangePlan::copy_own(const NodeRank& rank, const CollectiveBuffers& buffers) {
  const std::uint64_t offset = static_cast<std::uint64_t>(rank.whole.index) * part_;
  if (part_ == 0 || to_sent_) return;
  local_.push_back(
      {buffers.recv.slice(offset, part_), buffers.send.slice(offset, part_), Executor::kernel, {}});
  local_.back().shape = shape_of(choose_local_copy(local_));
}

// What stays in the node goes piece by piece behind what other nodes wait for, so that the network
// never waits for it: the slots are filled first, and then again between two pieces.
void ExchangePlan::plan_moves(const NodeRank& rank, const CollectiveBuffers& buffers) {
  for (std::size_t step = 0; step < rounds_.size() + kPartSlots; ++step) {
    if (staging_ && step < rounds_.size()) stage(rank, buffers, rounds_[step]);
    if (step >= kPartSlots && step - kPartSlots < pieces_.size()) {
      move_in_node(rank, buffers, pieces_[step - kPartSlots]);
    }
    moves_.end_round();
  }
  moves_.prepare();
}

void ExchangePlan::send(Stream& stream, std::size_t message) {
  if (!staging_) return wire_->enqueue(stream, message);
  slot_lanes_.at(0).handshake(full_[message]);
  slot_lanes_.at(0).handshake(go_[message]);
  wire_->enqueue(stream, message);
  slot_lanes_.at(1).handshake(gone_[message]);
  slot_lanes_.at(1).handshake(free_[message]);
}

// The slots' own semaphores say when they may be written, so only what stays in the node waits for
// the other ranks' receive buffers; the first pushes wait with it.
void ExchangePlan::enqueue(Stream& stream) {
  if (to_sent_) stream.copy(*to_sent_);
  if (!in_node_.ready.signals.empty()) stream.handshake(in_node_.ready);
  wire_->begin(stream);
  const int slot_lanes = full_.empty() ? 0 : 2;
  slot_lanes_.fork(stream, slot_lanes);
  if (!in_node_.may_write.waits.empty()) stream.handshake(in_node_.may_write);
  const int side = moves_.side_lanes();
  const int all = side + static_cast<int>(local_.size());
  lanes_.fork(stream, all);
  for (const Copy& copy : local_) lanes_.at(side).copy(copy);
  for (std::size_t i = 0; i < rounds_.size() + kPartSlots; ++i) {
    moves_.enqueue_round(stream, i);
    if (i < rounds_.size()) send(stream, i);
  }
  lanes_.join(stream, all);
  if (!arrivals_.waits.empty()) stream.handshake(arrivals_);
  wire_->end(stream);
  slot_lanes_.join(stream, slot_lanes);
  if (!in_node_.done.signals.empty()) stream.handshake(in_node_.done);
}

std::string ExchangePlan::algorithm() const {
  std::string text = fmt::format("{}; {} in the node", wire_->description(), moves_.description());
  if (staging_) text += fmt::format(", through {} slots", kPartSlots);
  if (to_sent_) text += "; first a copy of what is sent";
  return text;
}

}  // namespace duet
