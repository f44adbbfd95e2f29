// reduce_scatter over nodes, and the first half of an all_reduce: the ranks of a node reduce what
// belongs to another node's rank at that rank's column, which sends the result there.
//
//   ranks i of node a          rank j of node a                        rank j of node b
//   piece for (b, j) --push--> slots --+
//                              own ----+--kernel--> outgoing slot --message--> incoming slots --+
//                                                              its node's pieces, as above
//                                                              ----+--kernel--> result
//
// Pieces follow each other. Of piece k what goes to other nodes comes first, and then what comes
// from them for piece k - 1, so that the network always has something to carry.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/partition.h"
#include "collectives/schedule/algorithms/messages.h"
#include "collectives/schedule/algorithms/node_schedule.h"

namespace duet {
namespace {

constexpr int kIncomingSlots = 3;
// More than within a node: for each piece the kernel also adds what comes from N - 1 other nodes,
// and neither pushes nor the network go on meanwhile once its slots are in use. On 8 simulated
// nodes 16 blocks give 400 GB/s, 24 give 406, 32 give 408.
constexpr int kBlocks = 24;
// Messages that are made or under way at a time.
constexpr int kOutgoing = 4;
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

class NodesReduction {
 public:
  explicit NodesReduction(const AlgorithmInput& input)
      : input_(input), to_(input), place_(to_.place()) {
    std::uint64_t largest = 0;
    for (int each = 0; each < input.ranks; ++each) {
      parts_.push_back(reduced_part(input.collective, each, input.ranks));
      largest = std::max(largest, parts_.back().bytes);
    }
    const std::uint64_t most = input.largest_piece > 0
                                   ? input.largest_piece
                                   : piece_for(largest, place_.nodes(), place_.node_size());
    const std::uint64_t pieces = (largest + most - 1) / most;
    piece_bytes_ = pieces == 0 ? kGrain : whole_grains((largest + pieces - 1) / pieces);
    plan_rounds((largest + piece_bytes_ - 1) / piece_bytes_);
    if (place_.node_size() > 1) slots_.emplace(to_, kIncomingSlots, piece_bytes_);
    to_.use_wire(all_messages(), true);
    to_.schedule().incoming_bytes = index_of(messages_) * piece_bytes_;
    if (slots_)
      to_.schedule().scratch_bytes = index_of(std::min(messages_, kOutgoing)) * piece_bytes_;
  }

  RankSchedule schedule() {
    to_.schedule().algorithm = text();
    NodeMoves moves(to_, rounds_.size());
    const int side = moves.side_lanes();
    to_.begin_wire();
    to_.writer().fork(1, side);
    to_.writer().fork(input_.copying.count, 1);
    to_.writer().add(reduction());
    moves.begin();
    for (const Round& round : rounds_) {
      push(moves, round);
      if (round.distance > 0) to_.send(round.message);
    }
    to_.writer().join(input_.copying.count, 1);
    to_.writer().join(1, side);
    to_.end_wire();
    return to_.take();
  }

 private:
  // What the ranks of a node reduce together, each for its column: a piece of the parts of the
  // ranks of the node at a distance; 0: of their own.
  struct Round {
    int distance = 0;
    std::uint64_t piece = 0;
    int slot = 0;     // at the ranks that reduce
    int message = 0;  // that it makes; of distance 0: the first one that it needs
  };

  void plan_rounds(std::uint64_t pieces) {
    const auto add = [&](int distance, std::uint64_t piece, int message) {
      rounds_.push_back(
          {distance, piece, static_cast<int>(rounds_.size()) % kIncomingSlots, message});
    };
    for (std::uint64_t piece = 0; piece <= pieces; ++piece) {
      const int before = messages_ - (place_.nodes() - 1);
      for (int distance = 1; piece < pieces && distance < place_.nodes(); ++distance) {
        add(distance, piece, messages_++);
      }
      if (piece > 0) add(0, piece - 1, before);
    }
  }

  // Alone on its node a rank sends its own pieces as they are.
  bool is_reduced(const Round& round) const { return slots_.has_value() || round.distance == 0; }

  // Of a rank's part, in the send buffer; perhaps without bytes.
  ByteRange piece_of(int rank, std::uint64_t piece) const {
    const ByteRange& part = parts_[index_of(rank)];
    const std::uint64_t begin = std::min(piece * piece_bytes_, part.bytes);
    return {part.begin + begin, std::min(piece_bytes_, part.bytes - begin)};
  }

  Place sent(const ByteRange& range) const {
    return {BufferRole::send, input_.rank, range.begin, range.bytes};
  }
  // Whether a later message waits until the outgoing slot is free. Between two nodes it is: the
  // piece before the later one has come from a node that has then added this one.
  bool tells_gone(int message) const {
    return slots_ && place_.nodes() > 2 && message >= 0 && message + kOutgoing < messages_;
  }
  Place outgoing(int message, std::uint64_t bytes) const {
    return {BufferRole::scratch, input_.rank, index_of(message % kOutgoing) * piece_bytes_, bytes};
  }
  // Every message has a slot of its own, so that it may come whenever it has gone.
  Place incoming(int rank, int message, std::uint64_t bytes) const {
    return {BufferRole::incoming, rank, index_of(message) * piece_bytes_, bytes};
  }

  std::vector<StepMessage> all_messages() const {
    std::vector<StepMessage> all;
    for (const Round& round : rounds_) {
      if (round.distance == 0) continue;
      const int to = to_.column(place_.node_after(round.distance));
      const ByteRange now = piece_of(to, round.piece);
      const Place source = slots_ ? outgoing(round.message, now.bytes) : sent(now);
      all.push_back({to,
                     to_.column(place_.node_before(round.distance)),
                     {{source, incoming(to, round.message, now.bytes)}},
                     {piece_of(input_.rank, round.piece).bytes},
                     slots_.has_value(),
                     tells_gone(round.message)});
    }
    return all;
  }

  // This rank's pieces of a round, to those of its node that reduce them.
  void push(NodeMoves& moves, const Round& round) {
    const int node = place_.node_after(round.distance);
    for (int step = 1; step < place_.node_size(); ++step) {
      const int to = to_.peer(step);
      const ByteRange now = piece_of(place_.map.rank(node, place_.map.local(to)), round.piece);
      moves.add({{slots_->free(input_.rank, to, round.slot)},
                 sent(now),
                 {slots_->at(to, input_.rank, round.slot, now.bytes)},
                 {slots_->full(to, input_.rank, round.slot)}});
    }
  }

  Step reduction() const {
    Step step;
    step.lane = input_.copying.count;
    step.kernel.dtype = input_.collective.dtype;
    step.kernel.op = input_.collective.op;
    step.kernel.blocks = kBlocks;
    for (const Round& round : rounds_) {
      if (is_reduced(round)) step.kernel.items.push_back(reduced(round));
    }
    return step;
  }

  // The sources are added in the order of the node's ranks, and then of nodes by distance.
  StepItem reduced(const Round& round) const {
    const ByteRange now = piece_of(to_.column(place_.node_after(round.distance)), round.piece);
    StepItem item;
    item.divisor = round.distance == 0 ? static_cast<std::uint32_t>(input_.ranks) : 1;
    for (int local = 0; local < place_.node_size(); ++local) {
      const int source = place_.map.rank(place_.node, local);
      if (source == input_.rank) {
        item.sources.push_back(sent(now));
        continue;
      }
      item.sources.push_back(slots_->at(input_.rank, source, round.slot, now.bytes));
      item.waits.push_back(slots_->full(input_.rank, source, round.slot));
      item.signals.push_back(slots_->free(source, input_.rank, round.slot));
    }
    if (round.distance == 0) {
      add_arrivals(round, now.bytes, item);
    } else {
      item.targets = {outgoing(round.message, now.bytes)};
      const int before = round.message - kOutgoing;
      if (tells_gone(before)) item.waits.push_back(to_.gone(before));
      item.signals.push_back(to_.go(round.message));
    }
    if (now.bytes == 0) {
      item.sources.clear();
      item.targets.clear();
    }
    return item;
  }

  void add_arrivals(const Round& round, std::uint64_t bytes, StepItem& item) const {
    for (int distance = 1; distance < place_.nodes(); ++distance) {
      const int message = round.message + distance - 1;
      item.sources.push_back(incoming(input_.rank, message, bytes));
      item.waits.push_back(to_.come(message));
    }
    const std::uint64_t begin = piece_of(input_.rank, round.piece).begin;
    const std::uint64_t target = reduced_target(input_.collective, input_.rank, input_.ranks) +
                                 begin - parts_[index_of(input_.rank)].begin;
    item.targets = {{BufferRole::recv, input_.rank, target, bytes}};
  }

  std::string text() const {
    std::string text =
        fmt::format("{}; {}, reduced by {} blocks", kNetworkText, NodeMoves::text(input_), kBlocks);
    if (slots_) text += fmt::format(" through {} slots", kIncomingSlots);
    return text;
  }

  const AlgorithmInput& input_;
  NodeSchedule to_;
  const NodePlace& place_;
  std::vector<ByteRange> parts_;  // of the send buffer, by rank
  std::uint64_t piece_bytes_ = 0;
  std::vector<Round> rounds_;
  int messages_ = 0;
  std::optional<NodeSlots> slots_;  // not where a node has one rank
};

}  // namespace

Algorithm nodes_reduction() {
  return {"nodes-reduction",
          [](const AlgorithmInput& in) { return reduces(in.collective.kind); },
          [](const AlgorithmInput& in) { return NodesReduction(in).schedule(); },
          Half::first,
          1,
          true};
}

}  // namespace duet
