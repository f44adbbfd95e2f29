#include "collectives/nodes/scatter_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/nodes/messages.h"
#include "core/deadline.h"

namespace duet {
namespace {

constexpr int kIncomingSlots = 3;
// More than within a node: for each piece the kernel also adds what comes from N - 1 other nodes,
// and neither pushes nor the network go on meanwhile once its slots are in use. On 8 simulated
// nodes 16 blocks give 400 GB/s, 24 give 406, 32 give 408.
constexpr int kBlocks = 24;
// Messages that are made or under way at a time.
constexpr std::size_t kOutgoing = 4;
constexpr std::uint64_t kGrain = 4 << 10;
constexpr std::uint64_t kPiecesAlone = 8, kSmallestAlone = 4 << 20, kLargestAlone = 16 << 20;

std::uint64_t whole_grains(std::uint64_t bytes) { return (bytes + kGrain - 1) / kGrain * kGrain; }

// A piece costs L - 1 pushes, of which each takes some 4 us besides its bytes, so pieces are larger
// than what is only moved; but five follow each other, or of small parts three where pushes are
// many, since nothing hides what the first and the last one wait for. Bus bandwidth in GB/s of a
// reduce_scatter of 8 GiB on simulated p5.48xlarge, reduced by 16 blocks, of pieces of
//
//              4 MiB   6.4 MiB   8 MiB   11 MiB   13 MiB   17 MiB   32 MiB
//   8 nodes      352         -     386        -      393      399      395
//   16 nodes     343       365       -      386      388      326        -
//   32 nodes     248         -     293      326        -        -        -
//
// Where a node has one rank, pieces are the messages, and what is left behind the last one is to
// add it.
std::uint64_t piece_for(std::uint64_t part, int nodes, int node_size) {
  constexpr std::uint64_t kPieces = 5, kFewest = 3, kOverMoved = 4, kWorthSlots = 11 << 20;
  constexpr int kManyPushes = 16;  // of a piece, to all nodes
  if (node_size == 1) return std::clamp(part / kPiecesAlone, kSmallestAlone, kLargestAlone);
  const std::uint64_t moved = message_for(part, node_size);
  const bool many_pushes = nodes * (node_size - 1) >= kManyPushes;
  const std::uint64_t least =
      many_pushes ? std::max(moved, std::min(part / kFewest, kWorthSlots)) : moved;
  return std::clamp(part / kPieces, least, std::max(least, kOverMoved * moved));
}

}  // namespace

ScatterPlan::ScatterPlan(NodeRank& rank, const Collective& collective,
                         const CollectiveBuffers& buffers, SideStreams& lanes, MoveBy by,
                         const MakeWire& make_wire, Watchdog& watchdog, std::uint64_t largest_piece)
    : device_(rank.whole.device),
      buffers_(buffers),
      lanes_(lanes),
      moves_(rank.whole.device, lanes, by),
      kernel_lane_(rank.whole.device, {1, true}) {
  std::uint64_t largest = 0;
  for (int each = 0; each < rank.whole.size; ++each) {
    parts_.push_back(reduced_part(collective, each, rank.whole.size));
    largest = std::max(largest, parts_.back().bytes);
  }
  if (collective.kind == CollectiveKind::all_reduce) {
    result_ = parts_[static_cast<std::size_t>(rank.whole.index)].begin;
  }
  const std::uint64_t most =
      largest_piece > 0 ? largest_piece : piece_for(largest, rank.nodes(), rank.node_size());
  pieces_ = (largest + most - 1) / most;
  piece_bytes_ = pieces_ == 0 ? kGrain : whole_grains((largest + pieces_ - 1) / pieces_);
  pieces_ = (largest + piece_bytes_ - 1) / piece_bytes_;
  plan_rounds(rank);
  if (rank.node_size() > 1) {
    staging_.emplace(rank.in_node, kIncomingSlots, piece_bytes_);
    watched_.emplace(watchdog, staging_->waits());
  }
  rank.whole.team.all_or_none(rank.whole, "all ranks to allocate outgoing slots", [&] {
    if (staging_) outgoing_ = device_.allocate(std::min(messages_, kOutgoing) * piece_bytes_);
  });
  wire_ = make_wire(rank, traffic(rank));
  LocalKernel kernel;
  kernel.dtype = collective.dtype;
  kernel.op = collective.op;
  kernel.blocks = kBlocks;
  for (const Round& round : rounds_) {
    push(rank, round);
    moves_.end_round();
    if (reduces(round)) kernel.items.push_back(reduced(rank, round));
  }
  moves_.prepare();
  if (!kernel.items.empty()) reduction_ = device_.prepare(kernel);
  const std::size_t last = messages_ > kOutgoing ? messages_ - kOutgoing : 0;
  for (std::size_t i = last; staging_ && i < messages_; ++i) {
    last_gone_.waits.push_back(wire_->gone(i));
  }
}

void ScatterPlan::plan_rounds(const NodeRank& rank) {
  const auto others = static_cast<std::size_t>(rank.nodes() - 1);
  const auto add = [&](int distance, std::uint64_t piece, std::size_t message) {
    rounds_.push_back(
        {distance, piece, static_cast<int>(rounds_.size()) % kIncomingSlots, message});
  };
  for (std::uint64_t piece = 0; piece <= pieces_; ++piece) {
    for (int distance = 1; piece < pieces_ && distance < rank.nodes(); ++distance) {
      add(distance, piece, messages_++);
    }
    if (piece > 0) add(0, piece - 1, (piece - 1) * others);
  }
}

ByteRange ScatterPlan::piece_of(int rank, std::uint64_t piece) const {
  const ByteRange& part = parts_[static_cast<std::size_t>(rank)];
  const std::uint64_t begin = std::min(piece * piece_bytes_, part.bytes);
  return {part.begin + begin, std::min(piece_bytes_, part.bytes - begin)};
}

Span ScatterPlan::outgoing(std::size_t message, std::uint64_t bytes) const {
  return outgoing_.slice(message % kOutgoing * piece_bytes_, bytes);
}

// Every message has a slot of its own, so that it may come whenever it has gone.
Span ScatterPlan::incoming(std::size_t message, std::uint64_t bytes) const {
  return wire_->region().slice(message * piece_bytes_, bytes);
}

WireTraffic ScatterPlan::traffic(const NodeRank& rank) const {
  WireTraffic traffic;
  traffic.region_bytes = messages_ * piece_bytes_;
  traffic.sources = {staging_ ? outgoing_.span() : buffers_.send};
  for (const Round& round : rounds_) {
    if (round.distance == 0) continue;
    const int node = rank.node_after(round.distance);
    const ByteRange now = piece_of(rank.map.rank(node, rank.local), round.piece);
    const Span source =
        staging_ ? outgoing(round.message, now.bytes) : buffers_.send.slice(now.begin, now.bytes);
    traffic.messages.push_back(
        {node, {{source, round.message * piece_bytes_}}, staging_.has_value()});
    traffic.arrivals.push_back({piece_of(rank.whole.index, round.piece).bytes});
  }
  return traffic;
}

// This rank's pieces of a round, to those of its node that reduce them.
void ScatterPlan::push(const NodeRank& rank, const Round& round) {
  const int node = rank.node_after(round.distance);
  for (int step = 1; step < rank.node_size(); ++step) {
    const int to = (rank.local + step) % rank.node_size();
    const ByteRange now = piece_of(rank.map.rank(node, to), round.piece);
    moves_.add({{staging_->free_from(to, round.slot)},
                buffers_.send.slice(now.begin, now.bytes),
                {staging_->slot(to, rank.local, round.slot).slice(0, now.bytes)},
                {staging_->full_to(to, round.slot)}});
    add_wire_bytes(now.bytes);
  }
  if (round.distance > 0) {
    add_network_bytes(piece_of(rank.map.rank(node, rank.local), round.piece).bytes);
  }
}

// The sources are added in the order of the node's ranks, and then of nodes by distance.
LocalKernelItem ScatterPlan::reduced(const NodeRank& rank, const Round& round) const {
  const int node = rank.node_after(round.distance);
  const ByteRange now = piece_of(rank.map.rank(node, rank.local), round.piece);
  LocalKernelItem item;
  item.divisor = round.distance == 0 ? static_cast<std::uint32_t>(rank.whole.size) : 1;
  for (int source = 0; source < rank.node_size(); ++source) {
    if (source == rank.local) {
      item.sources.push_back(buffers_.send.slice(now.begin, now.bytes));
      continue;
    }
    item.sources.push_back(staging_->slot(rank.local, source, round.slot).slice(0, now.bytes));
    item.waits.push_back(staging_->full_from(source, round.slot));
    item.signals.push_back(staging_->free_to(source, round.slot));
  }
  if (round.distance == 0) {
    add_arrivals(rank, round, now.bytes, item);
  } else {
    item.destinations.push_back(outgoing(round.message, now.bytes));
    if (round.message >= kOutgoing) item.waits.push_back(wire_->gone(round.message - kOutgoing));
    item.signals.push_back(wire_->go(round.message));
  }
  if (now.bytes == 0) {
    item.sources.clear();
    item.destinations.clear();
  }
  return item;
}

void ScatterPlan::add_arrivals(const NodeRank& rank, const Round& round, std::uint64_t bytes,
                               LocalKernelItem& item) const {
  for (int distance = 1; distance < rank.nodes(); ++distance) {
    const std::size_t message = round.message + static_cast<std::size_t>(distance - 1);
    item.sources.push_back(incoming(message, bytes));
    item.waits.push_back(wire_->come(message));
  }
  const std::uint64_t begin = piece_of(rank.whole.index, round.piece).begin -
                              parts_[static_cast<std::size_t>(rank.whole.index)].begin;
  item.destinations.push_back(buffers_.recv.slice(result_ + begin, bytes));
}

void ScatterPlan::enqueue(Stream& stream) {
  wire_->begin(stream);
  const int side = moves_.side_lanes();
  lanes_.fork(stream, side);
  kernel_lane_.fork(stream, 1);
  if (reduction_ != nullptr) kernel_lane_.at(0).launch(*reduction_);
  for (std::size_t i = 0; i < rounds_.size(); ++i) {
    moves_.enqueue_round(stream, i);
    if (rounds_[i].distance > 0) wire_->enqueue(stream, rounds_[i].message);
  }
  kernel_lane_.join(stream, 1);
  lanes_.join(stream, side);
  if (!last_gone_.waits.empty()) stream.handshake(last_gone_);
  wire_->end(stream);
}

std::string ScatterPlan::algorithm() const {
  std::string text = fmt::format("{}; {} in the node, reduced by {} blocks", wire_->description(),
                                 moves_.description(), kBlocks);
  if (staging_) text += fmt::format(" through {} slots", kIncomingSlots);
  return text;
}

void ScatterPlan::poison_staging() {
  constexpr Fill kPoison{FillKind::constant, 0xDB, 0, DType::fp32};
  if (staging_) staging_->poison();
  const auto stream = device_.make_stream();
  for (const Span& span : {outgoing_.span(), wire_->region()}) {
    if (span.bytes > 0) stream->fill(span, kPoison);
  }
  stream->synchronize(kDefaultDeadlineSeconds);
}

}  // namespace duet
