#include "collectives/nodes/mapped_wire.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/schedule/algorithms/messages.h"

namespace duet {
namespace {

constexpr std::size_t kRows = 3;  // go, gone, come

// What a message tells its receiver comes with it. So on a simulated machine its words are in
// pinned memory, whose semaphores take no second latency of the network.
MemoryKind words_kind(const NodeRank& rank) {
  const bool is_virtual = rank.in_column.team.machine().is_virtual();
  return is_virtual ? MemoryKind::pinned : MemoryKind::device;
}

int in_flight(const WireTraffic& traffic) {
  std::uint64_t largest = 0;
  for (const WireMessage& message : traffic.messages) {
    for (const WirePiece& piece : message.pieces) {
      largest = std::max<std::uint64_t>(largest, piece.source.bytes);
    }
  }
  const auto messages = static_cast<int>(traffic.messages.size());
  return std::clamp(messages, 1, messages_in_flight(largest));
}

}  // namespace

MappedWire::MappedWire(NodeRank& rank, const WireTraffic& traffic, Watchdog& watchdog)
    : node_(rank.node),
      messages_(traffic.messages.size()),
      in_flight_(in_flight(traffic)),
      words_(rank.in_column, static_cast<int>(kRows * messages_), words_kind(rank)),
      open_(rank.in_column, rank.nodes()),
      streams_(rank.whole.device, {in_flight_, true}),
      steps_(rank.whole.device, in_flight_ + 1, true),
      watched_words_(watchdog, words_),
      watched_open_(watchdog, open_) {
  map_regions(rank, traffic);
  plan(rank, traffic);
}

void MappedWire::map_regions(NodeRank& rank, const WireTraffic& traffic) {
  constexpr const char* kWhat = "the other nodes' regions";
  if (traffic.region_bytes == 0) {
    given_.emplace(rank.in_column, traffic.region, kWhat);
    return;
  }
  const auto make = [&] { return rank.whole.device.allocate_coherent(traffic.region_bytes); };
  allocated_.emplace(rank.in_column, make, kWhat);
}

Semaphore MappedWire::word(int owner, std::size_t row, std::size_t message) const {
  return {words_.at(owner, static_cast<int>(row * messages_ + message))};
}

Semaphore MappedWire::open(int sender, int receiver) const { return {open_.at(sender, receiver)}; }

// The first message to a node waits until its region is open. Later ones start behind it, on
// whichever stream, since steps begin in order.
void MappedWire::plan(const NodeRank& rank, const WireTraffic& traffic) {
  std::vector<bool> known(static_cast<std::size_t>(rank.nodes()));
  for (std::size_t i = 0; i < messages_; ++i) {
    const WireMessage& message = traffic.messages[i];
    CopyStep step;
    step.lane = 1 + static_cast<int>(i) % in_flight_;
    if (!known[static_cast<std::size_t>(message.node)]) {
      known[static_cast<std::size_t>(message.node)] = true;
      step.waits.push_back(open(node_, message.node));
      // The node as far before this one sends here, as all ranks have messages over equal
      // distances.
      opens_.signals.push_back(open(rank.node_before(message.node - node_), node_));
    }
    if (message.staged) step.waits.push_back(go(i));
    for (const WirePiece& piece : message.pieces) {
      if (piece.source.bytes == 0) continue;
      const Span target = region(message.node).slice(piece.offset, piece.source.bytes);
      step.copies.push_back({target, piece.source, Executor::dma, {}});
    }
    step.signals.push_back(word(message.node, 2, i));
    if (message.tells_gone) step.signals.push_back(gone(i));
    steps_.add(std::move(step));
  }
}

void MappedWire::begin(Stream& stream) {
  if (opens_.signals.empty()) return;
  stream.handshake(opens_);
  streams_.fork(stream, in_flight_);
}

void MappedWire::enqueue(Stream& stream, std::size_t message) {
  steps_.enqueue(stream, streams_, message, message + 1);
}

void MappedWire::end(Stream& stream) {
  if (!opens_.signals.empty()) streams_.join(stream, in_flight_);
}

std::string MappedWire::description() const {
  return fmt::format("between nodes {} messages by copies, {} at a time", messages_, in_flight_);
}

}  // namespace duet
