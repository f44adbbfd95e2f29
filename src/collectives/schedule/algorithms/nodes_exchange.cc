// all_to_all and all_to_all_v over nodes: what a node's ranks have for one rank of another node
// goes there from that rank's column, as one message. Rails reach their own column alone on
// rail-optimised networks.
//
//   rank i of node a         rank j of node a                       rank j of node b
//   part for (b, j) --push--> staging slot --+
//                             own part ------+--message-->  parts of (a, 0), (a, 1) ..., where they
//                                                           belong in the receive buffer
//
// In place a rank first copies the buffer to memory of its own: a part comes to where the part for
// its sender lies, perhaps before that has gone.
//
// Parts of an all_to_all_v differ. All ranks cut them as the largest over the same distance:
// message n has byte range n of each part, of shorter parts less or nothing. Where no part goes to
// another column of another node, there are no slots.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "collectives/partition.h"
#include "collectives/schedule/algorithms/messages.h"
#include "collectives/schedule/algorithms/node_moves.h"

namespace duet {
namespace {

// One is filled while one is sent and one's end is on its way back.
constexpr int kPartSlots = 3;

// The part of every rank for every other one.
class ExchangedParts {
 public:
  ExchangedParts(const Collective& collective, int ranks, const NodeMap& map)
      : ranks_(ranks), largest_(index_of(map.nodes())) {
    if (collective.kind == CollectiveKind::all_to_all) {
      even_ = recv_bytes(collective, 0, ranks) / index_of(ranks);
      std::fill(largest_.begin(), largest_.end(), even_);
      cross_columns_ = true;
      return;
    }
    uneven_.resize(index_of(ranks) * index_of(ranks));
    for (const Move& move : moves(collective, ranks)) {
      uneven_[index_of(move.from * ranks + move.to)] = move;
      const int distance = (map.node(move.to) - map.node(move.from) + map.nodes()) % map.nodes();
      std::uint64_t& most = largest_[index_of(distance)];
      if (distance > 0 || move.to != move.from) most = std::max(most, move.bytes);
      if (distance > 0 && map.local(move.to) != map.local(move.from)) cross_columns_ = true;
    }
  }

  Move at(int from, int to) const {
    if (uneven_.empty()) return {from, to, index_of(to) * even_, index_of(from) * even_, even_};
    return uneven_[index_of(from * ranks_ + to)];
  }
  // Of those that go so many nodes further; of 0, to another rank of the node.
  std::uint64_t largest(int distance) const { return largest_[index_of(distance)]; }
  // Whether any goes to another node and another column.
  bool cross_columns() const { return cross_columns_; }

 private:
  int ranks_;
  std::uint64_t even_ = 0;
  std::vector<Move> uneven_;
  std::vector<std::uint64_t> largest_;  // by distance
  bool cross_columns_ = false;
};

class NodesExchange : public NodeSchedule {
 public:
  explicit NodesExchange(const AlgorithmInput& input)
      : NodeSchedule(input),
        parts_(input.collective, input.ranks, place().map),
        copies_first_(input.in_place && parts_.largest(0) > 0) {
    const std::uint64_t largest = input.largest_piece > 0 ? input.largest_piece : largest_piece();
    pieces_ = cut_into_messages(parts_.largest(0), largest, false);
    std::uint64_t slot_bytes = 0;
    for (int distance = 1; distance < place().nodes(); ++distance) {
      for (const ByteRange& piece :
           cut_into_messages(parts_.largest(distance), largest, distance == 1)) {
        rounds_.push_back({distance, piece, static_cast<int>(rounds_.size()) % kPartSlots});
        slot_bytes = std::max(slot_bytes, piece.bytes);
      }
    }
    use_handshakes();
    if (!peers().empty() && parts_.cross_columns()) slots_.emplace(*this, kPartSlots, slot_bytes);
    use_wire(all_messages());
  }

  // The slots' own semaphores say when they may be written, so only what stays in the node waits
  // for the other ranks' receive buffers; the first pushes wait with it.
  RankSchedule schedule() {
    made().algorithm = text();
    const int slot_lanes = slots_ && !rounds_.empty() ? 2 : 0;
    NodeMoves moves(*this, rounds_.size() + pieces_.size());
    const int side = moves.side_lanes() + (copies_own() ? 1 : 0);
    if (copies_first_) {
      const std::uint64_t bytes = send_bytes(input().collective, rank(), input().ranks);
      made().scratch_bytes = bytes;
      copy_local(0, {BufferRole::scratch, rank(), 0, bytes}, {BufferRole::send, rank(), 0, bytes},
                 true);
    }
    signal_ready();
    begin_wire();
    writer().fork(full_lane(), slot_lanes);
    await_ready();
    writer().fork(1, side);
    if (copies_own()) {
      const ByteRange all{0, parts_.at(rank(), rank()).bytes};
      copy_local(side, received(rank(), rank(), all), sent(rank(), all), input().aligned_alike);
    }
    move_all(moves);
    writer().join(1, side);
    handshake({}, all_come());
    end_wire();
    writer().join(full_lane(), slot_lanes);
    signal_done();
    await_done();
    return take();
  }

 private:
  // One message of each rank of a column: a piece of the parts for the node at a distance.
  struct Round {
    int distance = 0;
    ByteRange piece;
    int slot = 0;
  };

  // Where nothing goes through slots a rank sends as one that is alone on its node.
  std::uint64_t largest_piece() const {
    return exchange_for(parts_.cross_columns() ? place().node_size() : 1);
  }

  // Lanes that wait until slots are full, and until their message has gone.
  int full_lane() const { return input().copying.count + 1; }
  int gone_lane() const { return full_lane() + 1; }
  bool copies_own() const { return parts_.at(rank(), rank()).bytes > 0 && !copies_first_; }

  // Of the part of `from` for `to`, the piece's bytes.
  std::uint64_t bytes_of(int from, int to, const ByteRange& piece) const {
    const std::uint64_t all = parts_.at(from, to).bytes;
    return std::min(piece.bytes, all - std::min(all, piece.begin));
  }
  // This rank's piece of its part for another one, and where a rank's piece goes.
  Place sent(int to, const ByteRange& piece) const {
    const BufferRole buffer = copies_first_ ? BufferRole::scratch : BufferRole::send;
    const std::uint64_t bytes = bytes_of(rank(), to, piece);
    return {buffer, rank(), bytes > 0 ? parts_.at(rank(), to).from_offset + piece.begin : 0, bytes};
  }
  Place received(int at, int from, const ByteRange& piece) const {
    const std::uint64_t bytes = bytes_of(from, at, piece);
    return {BufferRole::recv, at, bytes > 0 ? parts_.at(from, at).to_offset + piece.begin : 0,
            bytes};
  }

  std::vector<StepMessage> all_messages() const {
    std::vector<StepMessage> all;
    for (const Round& round : rounds_) {
      StepMessage message = column_message(round.distance);
      message.staged = message.tells_gone = !senders(message.to, round.piece).empty();
      const auto add = [&](int from, const Place& source) {
        message.pieces.push_back({source, received(message.to, from, round.piece)});
        message.arrivals.push_back(bytes_of(counterpart(from, message), rank(), round.piece));
      };
      add(rank(), sent(message.to, round.piece));
      for (const int peer : slots_ ? peers() : std::vector<int>())
        add(peer, slots_->at(peer, round.slot, bytes_of(peer, message.to, round.piece)));
      all.push_back(std::move(message));
    }
    return all;
  }

  // Whose part comes where this rank sends that of `rank_of_node`: the rank of that column at the
  // node from which the message comes.
  int counterpart(int rank_of_node, const StepMessage& message) const {
    const NodeMap& map = place().map;
    return map.rank(map.node(message.from), map.local(rank_of_node));
  }

  // The peers that have pushed something of a piece for a rank of another node.
  std::vector<int> senders(int to, const ByteRange& piece) const {
    std::vector<int> all;
    for (const int peer : peers()) {
      if (bytes_of(peer, to, piece) > 0) all.push_back(peer);
    }
    return all;
  }

  // This rank's pieces of a round, to those of its node that send them.
  void stage(NodeMoves& moves, const Round& round) {
    slots_->push(moves, round.distance, round.slot, [&](int receiver) {
      const Place piece = sent(receiver, round.piece);
      return piece.bytes > 0 ? std::optional(piece) : std::nullopt;
    });
  }

  void move_in_node(NodeMoves& moves, const ByteRange& piece) {
    for (const int peer : peers()) {
      if (bytes_of(rank(), peer, piece) == 0) continue;
      moves.add({{}, sent(peer, piece), {received(peer, rank(), piece)}, {}});
    }
  }

  // Behind the pushes of its round: when all slots are full the message may go, and when it has
  // gone they are free.
  void send_round(int message) {
    if (!messages()[index_of(message)].staged) return send(message);
    const Round& round = rounds_[index_of(message)];
    Step may_go, has_gone;
    may_go.lane = full_lane();
    has_gone.lane = gone_lane();
    for (const int peer : senders(messages()[index_of(message)].to, round.piece)) {
      may_go.waits.push_back(slots_->full(peer, round.slot));
      has_gone.signals.push_back(slots_->free(peer, round.slot));
    }
    may_go.signals = {go(message)};
    has_gone.waits = {gone(message)};
    writer().add(std::move(may_go));
    send(message);
    writer().add(std::move(has_gone));
  }

  // What stays in the node goes piece by piece behind what other nodes wait for, so that the
  // network never waits for it: the slots are filled first, and then again between two pieces.
  void move_all(NodeMoves& moves) {
    moves.begin();
    const std::size_t longest = std::max(rounds_.size(), pieces_.size());
    for (std::size_t step = 0; step < longest + kPartSlots; ++step) {
      if (slots_ && step < rounds_.size()) stage(moves, rounds_[step]);
      if (step >= kPartSlots && step - kPartSlots < pieces_.size()) {
        move_in_node(moves, pieces_[step - kPartSlots]);
      }
      if (step < rounds_.size()) send_round(static_cast<int>(step));
    }
  }

  std::string text() const {
    std::string text = fmt::format("{}; {}", kNetworkText, NodeMoves::text(input()));
    if (slots_) text += fmt::format(", through {} slots", kPartSlots);
    if (copies_first_) text += "; first a copy of what is sent";
    return text;
  }

  const ExchangedParts parts_;
  const bool copies_first_;
  std::vector<ByteRange> pieces_;  // of a part that stays in the node
  std::vector<Round> rounds_;
  std::optional<NodeSlots> slots_;  // not where a node has one rank
};

}  // namespace

Algorithm nodes_exchange() {
  return {"nodes-exchange", is_of<CollectiveKind::all_to_all, CollectiveKind::all_to_all_v>,
          made_by<NodesExchange>, Half::none, true};
}

}  // namespace duet
