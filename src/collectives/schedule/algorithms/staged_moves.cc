// Collectives that only move data, through staging slots: for receive buffers that the other ranks
// cannot map, and for all_to_all in place. Lanes 1 to copying.count push, and make the local copy;
// those behind them copy out of slots.
//
// In step i of a piece rank r pushes to rank r + i and copies out what rank r - i has pushed, so
// that every port has one partner at a time. A rank enqueues by piece, then pushes before copies
// out, then by step: that is an order in which all copies of all ranks can run, so that nothing
// deadlocks where a device runs several lanes through one queue.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "collectives/partition.h"
#include "collectives/schedule/algorithms/algorithm.h"
#include "collectives/schedule/algorithms/copy_order.h"
#include "collectives/schedule/algorithms/staging_slots.h"
#include "collectives/schedule/local_copy.h"

namespace duet {
namespace {

// "The piece has left its rank", which may be overwritten then: one for each piece, since a slot
// may be pushed into again before this rank has copied out the one before.
constexpr int kPushed = StagingSlots::kGroups;

constexpr Executor kCopyOutExecutor = Executor::dma;  // the driver's choice how

class StagedMoves {
 public:
  StagedMoves(const std::vector<Move>& moves, const AlgorithmInput& input, bool in_place)
      : input_(input),
        rank_(input.rank),
        ranks_(input.ranks),
        in_place_(in_place),
        out_(index_of(ranks_)),
        in_(index_of(ranks_)) {
    const std::uint64_t largest = input.largest_piece > 0 ? input.largest_piece : kLargestPiece;
    std::map<std::pair<int, int>, std::size_t> pieces_between;  // by sender and receiver
    std::size_t most_pieces = 0;
    for (const Move& move : moves) {
      const std::vector<ByteRange> pieces = cut_into_pieces(move.bytes, largest);
      take(move, pieces);
      if (move.from == move.to) continue;
      std::size_t& all = pieces_between[{move.from, move.to}];
      all += pieces.size();
      most_pieces = std::max(most_pieces, all);
      for (const ByteRange& piece : pieces) largest_ = std::max(largest_, piece.bytes);
    }
    const bool all_to_all = pieces_between.size() == index_of(ranks_) * index_of(ranks_ - 1);
    slots_ = StagingSlots(rank_, ranks_, most_pieces, largest_,
                          all_to_all && needs_send_token(input.copying, most_pieces));
  }

  RankSchedule schedule() const {
    RankSchedule schedule = slots_.schedule();
    schedule.semaphores.push_back({"pushed", static_cast<int>(slots_.most_pieces())});
    schedule.algorithm = fmt::format("pushes through {} slots", slots_.count());
    if (!local_.empty()) schedule.algorithm += "; " + text_of(LocalCopyMethod::few_blocks);
    const int copying_out = input_.copying.in_order ? 1 : input_.copying.count;
    const int pushing = lanes_for(input_.copying, largest_), first_out = input_.copying.count + 1;
    const int side = pushing - 1 + (local_.empty() ? 0 : 1);
    const bool in_order = input_.copying.in_order;
    ScheduleWriter writer(schedule);
    writer.fork(1, side);
    writer.fork(first_out, copying_out);
    copy_local(writer, side);
    CopyOrder pushes(writer, 0, pushing, in_order);
    CopyOrder copies_out(writer, first_out, copying_out, in_order);
    for (std::size_t piece = 0; piece < slots_.most_pieces(); ++piece) {
      for (int step = 1; step < ranks_; ++step) push(pushes, piece, step);
      for (int step = 1; step < ranks_; ++step) copy_out(copies_out, piece, step);
    }
    writer.join(1, side);
    writer.join(first_out, copying_out);
    return schedule;
  }

 private:
  // What goes from one rank to another: pieces of its moves.
  using Route = std::vector<Move>;

  void take(const Move& move, const std::vector<ByteRange>& pieces) {
    if (move.from == move.to) {
      const bool stays = in_place_ && stays_in_place(input_.collective, move);
      if (move.from == rank_ && !stays) local_.push_back(move);
    } else if (move.from == rank_ || move.to == rank_) {
      Route& route = move.from == rank_ ? out_[index_of(move.to)] : in_[index_of(move.from)];
      for (const ByteRange& piece : pieces) {
        route.push_back({move.from, move.to, move.from_offset + piece.begin,
                         move.to_offset + piece.begin, piece.bytes});
      }
    }
  }

  void copy_local(ScheduleWriter& writer, int lane) const {
    Step step;
    step.lane = lane;
    for (const Move& move : local_) {
      step.copies.push_back({{BufferRole::recv, rank_, move.to_offset, move.bytes},
                             {BufferRole::send, rank_, move.from_offset, move.bytes},
                             Executor::kernel,
                             shape_of(LocalCopyMethod::few_blocks)});
    }
    if (!local_.empty()) writer.add(std::move(step));
  }

  void push(CopyOrder& pushes, std::size_t piece, int step) const {
    const int to = (rank_ + step) % ranks_;
    const Route& route = out_[index_of(to)];
    Step copy = slots_.push(to);
    if (piece < route.size()) {
      const Move& now = route[piece];
      copy.waits.push_back(slots_.free(rank_, to, piece));
      copy.copies = {{slots_.at(to, rank_, piece, now.bytes),
                      {BufferRole::send, rank_, now.from_offset, now.bytes},
                      input_.copying.executor,
                      {}}};
      copy.signals.push_back(slots_.full(to, rank_, piece));
      if (swaps(to)) copy.signals.push_back({kPushed, rank_, to, static_cast<int>(piece)});
    }
    pushes.add(std::move(copy), step);
  }

  void copy_out(CopyOrder& copies_out, std::size_t piece, int step) const {
    const int from = (rank_ + ranks_ - step) % ranks_;
    const Route& route = in_[index_of(from)];
    Step copy;
    if (piece < route.size()) {
      const Move& now = route[piece];
      copy.waits = {slots_.full(rank_, from, piece)};
      if (swaps(from)) copy.waits.push_back({kPushed, rank_, from, static_cast<int>(piece)});
      copy.copies = {{{BufferRole::recv, rank_, now.to_offset, now.bytes},
                      slots_.at(rank_, from, piece, now.bytes),
                      kCopyOutExecutor,
                      {}}};
      copy.signals = {slots_.free(from, rank_, piece)};
    }
    copies_out.add(std::move(copy), step);
  }

  // Whether what `peer` sends is received where what goes to it is sent from.
  bool swaps(int peer) const {
    return input_.in_place && input_.collective.kind == CollectiveKind::all_to_all &&
           !in_[index_of(peer)].empty() && !out_[index_of(peer)].empty();
  }

  const AlgorithmInput& input_;
  const int rank_, ranks_;
  const bool in_place_;
  std::vector<Route> out_, in_;  // by the other rank
  std::vector<Move> local_;
  std::uint64_t largest_ = 0;  // piece, in bytes
  StagingSlots slots_;
};

// What it moves is in the receive buffers.
RankSchedule from_recv(RankSchedule schedule) {
  for (Step& step : schedule.steps) {
    for (StepCopy& copy : step.copies) {
      if (copy.from.buffer == BufferRole::send) copy.from.buffer = BufferRole::recv;
    }
  }
  return schedule;
}

}  // namespace

Algorithm staged_moves() {
  return {"staged-moves", [](const AlgorithmInput& in) { return !reduces(in.collective.kind); },
          [](const AlgorithmInput& in) {
            return StagedMoves(moves(in.collective, in.ranks), in, in.in_place).schedule();
          }};
}

// The second half of an all_reduce, where receive buffers cannot be mapped.
Algorithm staged_spread() {
  return {"staged-spread", is_of<CollectiveKind::all_reduce>,
          [](const AlgorithmInput& in) {
            StagedMoves parts(part_to_all(in.collective, in.ranks), in, true);
            return from_recv(parts.schedule());
          },
          Half::second};
}

}  // namespace duet
