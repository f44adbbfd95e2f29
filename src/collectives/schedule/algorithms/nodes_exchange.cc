// all_to_all over nodes: what a node's ranks have for one rank of another node goes there from that
// rank's column, as one message. Rails reach their own column alone on rail-optimised networks.
//
//   rank i of node a         rank j of node a                       rank j of node b
//   part for (b, j) --push--> staging slot --+
//                             own part ------+--message-->  parts of (a, 0), (a, 1) ..., where they
//                                                           belong in the receive buffer
//
// In place a rank first copies the buffer to memory of its own: a part comes to where the part for
// its sender lies, perhaps before that has gone.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/partition.h"
#include "collectives/schedule/algorithms/messages.h"
#include "collectives/schedule/algorithms/node_moves.h"

namespace duet {
namespace {

// One is filled while one is sent and one's end is on its way back.
constexpr int kPartSlots = 3;

class NodesExchange : public NodeSchedule {
 public:
  explicit NodesExchange(const AlgorithmInput& input)
      : NodeSchedule(input),
        part_(send_bytes(input.collective, input.rank, input.ranks) /
              static_cast<std::uint64_t>(input.ranks)),
        copies_first_(input.in_place && part_ > 0) {
    const std::uint64_t largest =
        input.largest_piece > 0 ? input.largest_piece : exchange_for(place().node_size());
    pieces_ = cut_into_messages(part_, largest, false);
    std::uint64_t slot_bytes = 0;
    for (int distance = 1; distance < place().nodes(); ++distance) {
      for (const ByteRange& piece : cut_into_messages(part_, largest, distance == 1)) {
        rounds_.push_back({distance, piece, static_cast<int>(rounds_.size()) % kPartSlots});
        slot_bytes = std::max(slot_bytes, piece.bytes);
      }
    }
    use_handshakes();
    if (!peers().empty()) slots_.emplace(*this, kPartSlots, slot_bytes);
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
      const std::uint64_t bytes = part_ * static_cast<std::uint64_t>(input().ranks);
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
      const ByteRange all{0, part_};
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

  // Lanes that wait until slots are full, and until their message has gone.
  int full_lane() const { return input().copying.count + 1; }
  int gone_lane() const { return full_lane() + 1; }
  bool copies_own() const { return part_ > 0 && !copies_first_; }

  // This rank's piece of its part for another one, and where a rank's piece goes.
  Place sent(int to, const ByteRange& piece) const {
    const BufferRole buffer = copies_first_ ? BufferRole::scratch : BufferRole::send;
    return {buffer, rank(), index_of(to) * part_ + piece.begin, piece.bytes};
  }
  Place received(int at, int from, const ByteRange& piece) const {
    return {BufferRole::recv, at, index_of(from) * part_ + piece.begin, piece.bytes};
  }

  std::vector<StepMessage> all_messages() const {
    std::vector<StepMessage> all;
    for (const Round& round : rounds_) {
      StepMessage message = column_message(round.distance);
      message.staged = message.tells_gone = slots_.has_value();
      const auto add = [&](int from, const Place& source) {
        message.pieces.push_back({source, received(message.to, from, round.piece)});
        message.arrivals.push_back(round.piece.bytes);
      };
      add(rank(), sent(message.to, round.piece));
      for (const int peer : peers()) add(peer, slots_->at(peer, round.slot, round.piece.bytes));
      all.push_back(std::move(message));
    }
    return all;
  }

  // This rank's pieces of a round, to those of its node that send them.
  void stage(NodeMoves& moves, const Round& round) {
    slots_->push(moves, round.distance, round.slot,
                 [&](int receiver) { return sent(receiver, round.piece); });
  }

  void move_in_node(NodeMoves& moves, const ByteRange& piece) {
    for (const int peer : peers()) {
      moves.add({{}, sent(peer, piece), {received(peer, rank(), piece)}, {}});
    }
  }

  // Behind the pushes of its round: when all slots are full the message may go, and when it has
  // gone they are free.
  void send_round(int message) {
    if (!slots_) return send(message);
    const int slot = rounds_[index_of(message)].slot;
    Step may_go, has_gone;
    may_go.lane = full_lane();
    has_gone.lane = gone_lane();
    may_go.waits = of_peers([&](int peer) { return slots_->full(peer, slot); });
    has_gone.signals = of_peers([&](int peer) { return slots_->free(peer, slot); });
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
    for (std::size_t step = 0; step < rounds_.size() + kPartSlots; ++step) {
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

  const std::uint64_t part_;  // bytes
  const bool copies_first_;
  std::vector<ByteRange> pieces_;  // of a part
  std::vector<Round> rounds_;
  std::optional<NodeSlots> slots_;  // not where a node has one rank
};

}  // namespace

Algorithm nodes_exchange() {
  return {"nodes-exchange", is_of<CollectiveKind::all_to_all>, made_by<NodesExchange>, Half::none,
          true};
}

}  // namespace duet
