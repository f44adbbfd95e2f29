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
#include "collectives/schedule/algorithms/node_moves.h"

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

std::uint64_t whole_grains(std::uint64_t bytes) { return (bytes + kGrain - 1) / kGrain * kGrain; }

class NodesReduction : public NodeSchedule {
 public:
  explicit NodesReduction(const AlgorithmInput& input) : NodeSchedule(input) {
    std::uint64_t largest = 0;
    for (int each = 0; each < input.ranks; ++each) {
      parts_.push_back(reduced_part(input.collective, each, input.ranks));
      largest = std::max(largest, parts_.back().bytes);
    }
    const std::uint64_t most =
        input.largest_piece > 0 ? input.largest_piece
                                : reduced_piece_for(largest, place().nodes(), place().node_size());
    const std::uint64_t pieces = (largest + most - 1) / most;
    piece_bytes_ = pieces == 0 ? kGrain : whole_grains((largest + pieces - 1) / pieces);
    plan_rounds((largest + piece_bytes_ - 1) / piece_bytes_);
    if (!peers().empty()) slots_.emplace(*this, kIncomingSlots, piece_bytes_);
    use_wire(all_messages(), true);
    made().incoming_bytes = index_of(messages_) * piece_bytes_;
    if (slots_) made().scratch_bytes = index_of(std::min(messages_, kOutgoing)) * piece_bytes_;
  }

  RankSchedule schedule() {
    made().algorithm = text();
    NodeMoves moves(*this, rounds_.size());
    const int side = moves.side_lanes();
    begin_wire();
    writer().fork(1, side);
    writer().fork(input().copying.count, 1);
    writer().add(reduction());
    moves.begin();
    for (const Round& round : rounds_) {
      push(moves, round);
      if (round.distance > 0) send(round.message);
    }
    writer().join(input().copying.count, 1);
    writer().join(1, side);
    end_wire();
    return take();
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
      const int before = messages_ - (place().nodes() - 1);
      for (int distance = 1; piece < pieces && distance < place().nodes(); ++distance) {
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
    return {BufferRole::send, rank(), range.begin, range.bytes};
  }
  // Whether a later message waits until the outgoing slot is free. Between two nodes it is: the
  // piece before the later one has come from a node that has then added this one.
  bool tells_gone(int message) const {
    return slots_ && place().nodes() > 2 && message >= 0 && message + kOutgoing < messages_;
  }
  Place outgoing(int message, std::uint64_t bytes) const {
    return {BufferRole::scratch, rank(), index_of(message % kOutgoing) * piece_bytes_, bytes};
  }
  // Every message has a slot of its own, so that it may come whenever it has gone.
  Place incoming(int rank, int message, std::uint64_t bytes) const {
    return {BufferRole::incoming, rank, index_of(message) * piece_bytes_, bytes};
  }

  std::vector<StepMessage> all_messages() const {
    std::vector<StepMessage> all;
    for (const Round& round : rounds_) {
      if (round.distance == 0) continue;
      StepMessage message = column_message(round.distance);
      const ByteRange now = piece_of(message.to, round.piece);
      const Place source = slots_ ? outgoing(round.message, now.bytes) : sent(now);
      message.pieces = {{source, incoming(message.to, round.message, now.bytes)}};
      message.arrivals = {piece_of(rank(), round.piece).bytes};
      message.staged = slots_.has_value();
      message.tells_gone = tells_gone(round.message);
      all.push_back(std::move(message));
    }
    return all;
  }

  // This rank's pieces of a round, to those of its node that reduce them.
  void push(NodeMoves& moves, const Round& round) {
    if (!slots_) return;
    slots_->push(moves, round.distance, round.slot,
                 [&](int receiver) { return sent(piece_of(receiver, round.piece)); });
  }

  Step reduction() const {
    Step step;
    step.lane = input().copying.count;
    step.kernel.dtype = input().collective.dtype;
    step.kernel.op = input().collective.op;
    step.kernel.blocks = kBlocks;
    for (const Round& round : rounds_) {
      if (is_reduced(round)) step.kernel.items.push_back(reduced(round));
    }
    return step;
  }

  // The sources are added in the order of the node's ranks, and then of nodes by distance.
  StepItem reduced(const Round& round) const {
    const ByteRange now = piece_of(column_message(round.distance).to, round.piece);
    StepItem item;
    item.divisor = round.distance == 0 ? static_cast<std::uint32_t>(input().ranks) : 1;
    for (int local = 0; local < place().node_size(); ++local) {
      const int source = place().map.rank(place().node, local);
      if (source == rank()) {
        item.sources.push_back(sent(now));
        continue;
      }
      item.sources.push_back(slots_->at(source, round.slot, now.bytes));
      item.waits.push_back(slots_->full(source, round.slot));
      item.signals.push_back(slots_->free(source, round.slot));
    }
    if (round.distance == 0) {
      add_arrivals(round, now.bytes, item);
    } else {
      item.targets = {outgoing(round.message, now.bytes)};
      const int before = round.message - kOutgoing;
      if (tells_gone(before)) item.waits.push_back(gone(before));
      item.signals.push_back(go(round.message));
    }
    if (now.bytes == 0) {
      item.sources.clear();
      item.targets.clear();
    }
    return item;
  }

  void add_arrivals(const Round& round, std::uint64_t bytes, StepItem& item) const {
    for (int distance = 1; distance < place().nodes(); ++distance) {
      const int message = round.message + distance - 1;
      item.sources.push_back(incoming(rank(), message, bytes));
      item.waits.push_back(come(message));
    }
    const std::uint64_t begin = piece_of(rank(), round.piece).begin;
    const std::uint64_t target = reduced_target(input().collective, rank(), input().ranks) + begin -
                                 parts_[index_of(rank())].begin;
    item.targets = {{BufferRole::recv, rank(), target, bytes}};
  }

  std::string text() const {
    std::string text = fmt::format("{}; {}, reduced by {} blocks", kNetworkText,
                                   NodeMoves::text(input()), kBlocks);
    if (slots_) text += fmt::format(" through {} slots", kIncomingSlots);
    return text;
  }

  std::vector<ByteRange> parts_;  // of the send buffer, by rank
  std::uint64_t piece_bytes_ = 0;
  std::vector<Round> rounds_;
  int messages_ = 0;
  std::optional<NodeSlots> slots_;  // not where a node has one rank
};

}  // namespace

Algorithm nodes_reduction() {
  return {"nodes-reduction", [](const AlgorithmInput& in) { return reduces(in.collective.kind); },
          made_by<NodesReduction>, Half::first, true};
}

}  // namespace duet
