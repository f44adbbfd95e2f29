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
#include "collectives/schedule/algorithms/node_schedule.h"
#include "collectives/schedule/local_copy.h"

namespace duet {
namespace {

// One is filled while one is sent and one's end is on its way back.
constexpr int kPartSlots = 3;

class NodesExchange {
 public:
  explicit NodesExchange(const AlgorithmInput& input)
      : input_(input),
        to_(input),
        place_(to_.place()),
        part_(send_bytes(input.collective, input.rank, input.ranks) /
              static_cast<std::uint64_t>(input.ranks)),
        copies_first_(input.in_place && part_ > 0) {
    const std::uint64_t largest =
        input.largest_piece > 0 ? input.largest_piece : exchange_for(place_.node_size());
    pieces_ = cut_into_messages(part_, largest, false);
    std::uint64_t slot_bytes = 0;
    for (int distance = 1; distance < place_.nodes(); ++distance) {
      for (const ByteRange& piece : cut_into_messages(part_, largest, distance == 1)) {
        rounds_.push_back({distance, piece, static_cast<int>(rounds_.size()) % kPartSlots});
        slot_bytes = std::max(slot_bytes, piece.bytes);
      }
    }
    to_.use_handshakes();
    if (place_.node_size() > 1) slots_.emplace(to_, kPartSlots, slot_bytes);
    to_.use_wire(all_messages());
  }

  // The slots' own semaphores say when they may be written, so only what stays in the node waits
  // for the other ranks' receive buffers; the first pushes wait with it.
  RankSchedule schedule() {
    to_.schedule().algorithm = text();
    const int slot_lanes = slots_ && !rounds_.empty() ? 2 : 0;
    NodeMoves moves(to_, rounds_.size() + pieces_.size());
    const int side = moves.side_lanes() + (copies_own() ? 1 : 0);
    if (copies_first_) copy_first();
    to_.signal_ready();
    to_.begin_wire();
    to_.writer().fork(full_lane(), slot_lanes);
    to_.await_ready();
    to_.writer().fork(1, side);
    if (copies_own()) copy_own(side);
    move_all(moves);
    to_.writer().join(1, side);
    to_.await_messages();
    to_.end_wire();
    to_.writer().join(full_lane(), slot_lanes);
    to_.end_writes();
    return to_.take();
  }

 private:
  // One message of each rank of a column: a piece of the parts for the node at a distance.
  struct Round {
    int distance = 0;
    ByteRange piece;
    int slot = 0;
  };

  // Lanes that wait until slots are full, and until their message has gone.
  int full_lane() const { return input_.copying.count + 1; }
  int gone_lane() const { return full_lane() + 1; }
  bool copies_own() const { return part_ > 0 && !copies_first_; }

  // This rank's piece of its part for another one, and where a rank's piece goes.
  Place sent(int to, const ByteRange& piece) const {
    const BufferRole buffer = copies_first_ ? BufferRole::scratch : BufferRole::send;
    return {buffer, input_.rank, index_of(to) * part_ + piece.begin, piece.bytes};
  }
  Place received(int at, int from, const ByteRange& piece) const {
    return {BufferRole::recv, at, index_of(from) * part_ + piece.begin, piece.bytes};
  }

  std::vector<StepMessage> all_messages() const {
    std::vector<StepMessage> all;
    for (const Round& round : rounds_) {
      const int to = to_.column(place_.node_after(round.distance));
      StepMessage message;
      message.to = to;
      message.from = to_.column(place_.node_before(round.distance));
      message.staged = message.tells_gone = slots_.has_value();
      for (int step = 0; step < place_.node_size(); ++step) {
        const int from = to_.peer(step);
        const Place source = step == 0
                                 ? sent(to, round.piece)
                                 : slots_->at(input_.rank, from, round.slot, round.piece.bytes);
        message.pieces.push_back({source, received(to, from, round.piece)});
        message.arrivals.push_back(round.piece.bytes);
      }
      all.push_back(std::move(message));
    }
    return all;
  }

  Step local_copy(const Place& to, const Place& from, bool aligned) const {
    Step step;
    step.copies = {
        {to, from, Executor::kernel, shape_of(choose_local_copy(from.bytes, aligned, false))}};
    return step;
  }

  void copy_first() {
    const std::uint64_t bytes = part_ * static_cast<std::uint64_t>(input_.ranks);
    to_.schedule().scratch_bytes = bytes;
    to_.writer().add(local_copy({BufferRole::scratch, input_.rank, 0, bytes},
                                {BufferRole::send, input_.rank, 0, bytes}, true));
  }

  void copy_own(int lane) {
    const ByteRange all{0, part_};
    Step step = local_copy(received(input_.rank, input_.rank, all), sent(input_.rank, all),
                           input_.aligned_alike);
    step.lane = lane;
    to_.writer().add(std::move(step));
  }

  // This rank's pieces of a round, to those of its node that send them.
  void stage(NodeMoves& moves, const Round& round) {
    const int node = place_.node_after(round.distance);
    for (int step = 1; step < place_.node_size(); ++step) {
      const int to = to_.peer(step);
      const int receiver = place_.map.rank(node, place_.map.local(to));
      moves.add({{slots_->free(input_.rank, to, round.slot)},
                 sent(receiver, round.piece),
                 {slots_->at(to, input_.rank, round.slot, round.piece.bytes)},
                 {slots_->full(to, input_.rank, round.slot)}});
    }
  }

  void move_in_node(NodeMoves& moves, const ByteRange& piece) {
    for (int step = 1; step < place_.node_size(); ++step) {
      const int to = to_.peer(step);
      moves.add({{}, sent(to, piece), {received(to, input_.rank, piece)}, {}});
    }
  }

  // Behind the pushes of its round: when all slots are full the message may go, and when it has
  // gone they are free.
  void send(int message) {
    if (!slots_) return to_.send(message);
    const int slot = rounds_[index_of(message)].slot;
    Step full, gone;
    full.lane = full_lane();
    gone.lane = gone_lane();
    for (int step = 1; step < place_.node_size(); ++step) {
      full.waits.push_back(slots_->full(input_.rank, to_.peer(step), slot));
      gone.signals.push_back(slots_->free(to_.peer(step), input_.rank, slot));
    }
    full.signals = {to_.go(message)};
    gone.waits = {to_.gone(message)};
    to_.writer().add(std::move(full));
    to_.send(message);
    to_.writer().add(std::move(gone));
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
      if (step < rounds_.size()) send(static_cast<int>(step));
    }
  }

  std::string text() const {
    std::string text = fmt::format("{}; {}", kNetworkText, NodeMoves::text(input_));
    if (slots_) text += fmt::format(", through {} slots", kPartSlots);
    if (copies_first_) text += "; first a copy of what is sent";
    return text;
  }

  const AlgorithmInput& input_;
  NodeSchedule to_;
  const NodePlace& place_;
  const std::uint64_t part_;  // bytes
  const bool copies_first_;
  std::vector<ByteRange> pieces_;  // of a part
  std::vector<Round> rounds_;
  std::optional<NodeSlots> slots_;  // not where a node has one rank
};

}  // namespace

Algorithm nodes_exchange() {
  return {"nodes-exchange",
          [](const AlgorithmInput& in) { return in.collective.kind == CollectiveKind::all_to_all; },
          [](const AlgorithmInput& in) { return NodesExchange(in).schedule(); },
          Half::none,
          1,
          true};
}

}  // namespace duet
