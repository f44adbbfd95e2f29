#include "collectives/nodes/staged_wire.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/packing.h"

namespace duet {
namespace {

// While one slot is filled, one is on the rails, one is emptied at the other end, and the news of
// one that is empty is on its way.
constexpr std::size_t kSlots = 4;
// A chunk takes the rails this long: some ten times what a copy, and what tells of it, take besides
// their bytes.
constexpr double kChunkSeconds = 80e-6;
constexpr std::uint64_t kSmallestChunk = 512 << 10, kLargestUsualChunk = 4 << 20;
// Of a call, beside the last chunk of each message, so that its work fits a stream's queue: a start
// gate holds streams until all of a call is enqueued, and a stream whose queue is full keeps its
// caller waiting.
constexpr std::uint64_t kMostChunks = 128;
constexpr std::uint64_t kSlotGrain = 4 << 10;

constexpr int kOutLane = 1, kInLane = 2;

std::uint64_t total(const std::vector<WirePiece>& pieces) {
  std::uint64_t bytes = 0;
  for (const WirePiece& piece : pieces) bytes += piece.source.bytes;
  return bytes;
}

std::uint64_t chunk_bytes(double gbit_per_s, const WireTraffic& traffic) {
  std::uint64_t all = 0;
  for (const WireMessage& message : traffic.messages) all += total(message.pieces);
  const double usual = gbit_per_s > 0 ? gbit_per_s / 8 * 1e9 * kChunkSeconds : 2 << 20;
  const auto chunk =
      std::clamp(static_cast<std::uint64_t>(usual), kSmallestChunk, kLargestUsualChunk);
  return (std::max(chunk, all / kMostChunks) + kSlotGrain - 1) / kSlotGrain * kSlotGrain;
}

// Calls `each` with the parts of the pieces that are the bytes [begin, begin + bytes) of all of
// them, and where each part begins among these bytes.
template <typename Each>
void parts_of(const std::vector<WirePiece>& pieces, std::uint64_t begin, std::uint64_t bytes,
              Each each) {
  std::uint64_t at = 0;
  for (const WirePiece& piece : pieces) {
    const std::uint64_t from = std::max(begin, at);
    const std::uint64_t to = std::min<std::uint64_t>(begin + bytes, at + piece.source.bytes);
    if (from < to) each(piece, from - at, to - from, from - begin);
    at += piece.source.bytes;
  }
}

}  // namespace

StagedWire::StagedWire(NodeRank& rank, const WireTraffic& traffic, Network& network,
                       Watchdog& watchdog)
    : device_(rank.whole.device),
      messages_(traffic.messages.size()),
      streams_(rank.whole.device, {kInLane, false}),
      steps_(rank.whole.device, kInLane + 1, false) {
  agree(rank, traffic, network.gbit_per_s());
  slots_ = std::min(kSlots, agreed_->chunks.size());
  rank.whole.team.all_or_none(rank.whole, "all ranks to allocate pinned slots", [&] {
    out_ = device_.allocate(slots_ * agreed_->slot_bytes, MemoryKind::pinned);
    in_ = device_.allocate(slots_ * agreed_->slot_bytes, MemoryKind::pinned);
    if (traffic.region_bytes > 0) allocated_ = device_.allocate(traffic.region_bytes);
    region_span_ = traffic.region_bytes > 0 ? allocated_.span() : traffic.region;
    words_ = zeroed_semaphores(device_, static_cast<int>(3 * messages_));
  });
  rails_ = std::make_unique<FabricWire>(rank, between_slots(rank, traffic), network, watchdog);
  // By turns, so that a call that is longer than a stream's queue fills both queues alike.
  for (std::size_t i = 0; i < agreed_->chunks.size(); ++i) {
    if (agreed_->chunks[i].first) first_step_.push_back(steps_.size());
    copy_out(traffic, i);
    copy_in(rank, traffic, i);
  }
  first_step_.push_back(steps_.size());
  DeviceWaits& waits = *this;
  watched_ = std::make_unique<Watched>(watchdog, waits);
}

void StagedWire::agree(NodeRank& rank, const WireTraffic& traffic, double gbit_per_s) {
  std::vector<std::string> own{std::to_string(chunk_bytes(gbit_per_s, traffic))};
  for (const WireMessage& message : traffic.messages) {
    std::vector<std::string> places;
    for (const WirePiece& piece : message.pieces) {
      places.push_back(std::to_string(piece.offset));
      places.push_back(std::to_string(piece.source.bytes));
    }
    own.push_back(pack(places));
  }
  agreed_ = rank.in_column.team.gather_as<Agreed>(rank.in_column, pack(own),
                                                  "the other nodes to tell their messages", agreed);
}

StagedWire::Agreed StagedWire::agreed(const std::vector<std::string>& all) {
  Agreed agreed;
  std::uint64_t chunk = 0, largest = 0;
  std::vector<std::uint64_t> sizes;  // of a message, at the rank where it is largest
  for (const std::string& each : all) {
    const std::vector<std::string> fields = unpack(each);
    chunk = std::max<std::uint64_t>(chunk, std::stoull(fields.at(0)));
    sizes.resize(fields.size() - 1);
    std::vector<Places>& messages = agreed.messages.emplace_back();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::vector<std::string> places = unpack(fields[i + 1]);
      Places& pieces = messages.emplace_back();
      for (std::size_t at = 0; at + 1 < places.size(); at += 2) {
        WirePiece piece;
        piece.offset = std::stoull(places[at]);
        piece.source.bytes = std::stoull(places[at + 1]);
        pieces.push_back(piece);
      }
      sizes[i] = std::max(sizes[i], total(pieces));
      largest = std::max(largest, sizes[i]);
    }
  }
  agreed.slot_bytes = std::min(chunk, (largest + kSlotGrain - 1) / kSlotGrain * kSlotGrain);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (std::uint64_t begin = 0; begin == 0 || begin < sizes[i]; begin += chunk) {
      agreed.chunks.push_back({i, begin, begin == 0, begin + chunk >= sizes[i]});
    }
  }
  return agreed;
}

int StagedWire::sender_of(const NodeRank& rank, const WireTraffic& traffic,
                          std::size_t message) const {
  return (2 * rank.node + rank.nodes() - traffic.messages[message].node) % rank.nodes();
}

Span StagedWire::slot(const Buffer& slots, std::size_t number, std::uint64_t bytes) const {
  return slots.slice(number % slots_ * agreed_->slot_bytes, bytes);
}

// What the rails carry: each chunk is a message, from slot to slot.
WireTraffic StagedWire::between_slots(const NodeRank& rank, const WireTraffic& traffic) const {
  WireTraffic slots;
  slots.region = in_.span();
  slots.slots = slots_;
  slots.sources = {out_.span()};
  for (std::size_t i = 0; i < agreed_->chunks.size(); ++i) {
    const Chunk& chunk = agreed_->chunks[i];
    const auto bytes_of = [&](int node) {
      const std::uint64_t all =
          total(agreed_->messages.at(static_cast<std::size_t>(node)).at(chunk.message));
      return std::min(agreed_->slot_bytes, all - std::min(all, chunk.begin));
    };
    const Span source = slot(out_, i, bytes_of(rank.node));
    slots.messages.push_back({traffic.messages[chunk.message].node,
                              {{source, i % slots_ * agreed_->slot_bytes}},
                              true,
                              i + slots_ < agreed_->chunks.size()});
    slots.arrivals.push_back({bytes_of(sender_of(rank, traffic, chunk.message))});
  }
  return slots;
}

void StagedWire::copy_out(const WireTraffic& traffic, std::size_t number) {
  const Chunk& chunk = agreed_->chunks[number];
  const WireMessage& message = traffic.messages[chunk.message];
  CopyStep step;
  step.lane = kOutLane;
  if (number >= slots_) step.waits.push_back(rails_->gone(number - slots_));
  if (message.staged && chunk.first) step.waits.push_back(go(chunk.message));
  parts_of(message.pieces, chunk.begin, agreed_->slot_bytes,
           [&](const WirePiece& piece, std::uint64_t from, std::uint64_t bytes, std::uint64_t to) {
             const Span target = slot(out_, number, agreed_->slot_bytes).slice(to, bytes);
             step.copies.push_back({target, piece.source.slice(from, bytes), Executor::dma, {}});
           });
  step.signals.push_back(rails_->go(number));
  if (message.tells_gone && chunk.last) step.signals.push_back(gone(chunk.message));
  steps_.add(std::move(step));
}

void StagedWire::copy_in(const NodeRank& rank, const WireTraffic& traffic, std::size_t number) {
  const Chunk& chunk = agreed_->chunks[number];
  const auto sender = static_cast<std::size_t>(sender_of(rank, traffic, chunk.message));
  CopyStep step;
  step.lane = kInLane;
  step.waits.push_back(rails_->come(number));
  parts_of(agreed_->messages.at(sender).at(chunk.message), chunk.begin, agreed_->slot_bytes,
           [&](const WirePiece& piece, std::uint64_t from, std::uint64_t bytes, std::uint64_t to) {
             const Span source = slot(in_, number, agreed_->slot_bytes).slice(to, bytes);
             const Span target = region_span_.slice(piece.offset + from, bytes);
             step.copies.push_back({target, source, Executor::dma, {}});
           });
  if (number + slots_ < agreed_->chunks.size()) step.signals.push_back(rails_->taken(number));
  if (chunk.last) step.signals.push_back(come(chunk.message));
  steps_.add(std::move(step));
}

void StagedWire::begin(Stream& stream) {
  if (messages_ == 0) return;
  rails_->begin(stream);
  streams_.fork(stream, kInLane);
}

void StagedWire::enqueue(Stream& stream, std::size_t message) {
  steps_.enqueue(stream, streams_, first_step_[message], first_step_[message + 1]);
}

void StagedWire::end(Stream& stream) {
  if (messages_ == 0) return;
  streams_.join(stream, kInLane);
  rails_->end(stream);
}

std::string StagedWire::description() const {
  return fmt::format("{}, staged by chunks of {} KiB", rails_->description(),
                     agreed_->slot_bytes >> 10);
}

std::unique_ptr<Wire> make_rails_wire(NodeRank& rank, const WireTraffic& traffic, Network& network,
                                      Watchdog& watchdog) {
  if (network.path() == MemoryPath::staged) {
    return std::make_unique<StagedWire>(rank, traffic, network, watchdog);
  }
  return std::make_unique<FabricWire>(rank, traffic, network, watchdog);
}

}  // namespace duet
