// In step i of a piece rank r pushes to rank r + i and copies out what rank r - i has pushed, so
// that every port has one partner at a time. A rank enqueues by piece, then pushes before copies
// out, then by step: that is an order in which all copies of all ranks can run, so that nothing
// deadlocks where a device runs several lanes through one queue.
#include "collectives/schedule/algorithms/staged_moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/peer/partition.h"
#include "collectives/schedule/algorithms/copy_order.h"
#include "collectives/schedule/local_copy.h"

namespace duet {
namespace {

// "The piece is in the slot", "the slot may be written", and the send token of a receiver, which
// the rank before it has first. "The piece has left its rank", which may be overwritten then: one
// for each piece, since a slot may be pushed into again before this rank has copied out the one
// before.
constexpr int kFull = 0, kFree = 1, kPushed = 2, kFirstToken = 3, kToken = 4;

constexpr Executor kCopyOutExecutor = Executor::dma;  // the driver's choice how
const KernelShape kLocalShape = shape_of(LocalCopyMethod::few_blocks);

class StagedMoves {
 public:
  StagedMoves(const std::vector<Move>& moves, int rank, int ranks, const StagedMoveOptions& options)
      : options_(options), rank_(rank), ranks_(ranks), out_(index_of(ranks)), in_(index_of(ranks)) {
    for (const Move& move : moves) take(move);
    slots_ = slots_for(most_pieces_);
    slot_bytes_ = slot_bytes_for(largest_);
    has_token_ = ranks > 2 && moved_ == ranks * (ranks - 1) &&
                 needs_send_token(options.copying, most_pieces_);
  }

  RankSchedule schedule() {
    RankSchedule schedule;
    schedule.rank = rank_;
    schedule.ranks = ranks_;
    schedule.semaphores = {{"full", slots_, 0, false},
                           {"free", slots_, 1, false},
                           {"pushed", static_cast<int>(most_pieces_), 0, false},
                           {"first token", 1, 1, true},
                           {"token", 1, 0, true}};
    schedule.slot_bytes = static_cast<std::uint64_t>((ranks_ - 1) * slots_) * slot_bytes_;
    schedule.algorithm = text();
    write(schedule);
    return schedule;
  }

 private:
  struct Route {
    Move move;
    std::vector<ByteRange> pieces;
  };

  void take(const Move& move) {
    const std::vector<ByteRange> pieces = cut_into_pieces(move.bytes, options_.largest_piece);
    if (move.from == move.to) {
      if (move.from == rank_ && !options_.in_place) local_.push_back(move);
      return;
    }
    ++moved_;
    most_pieces_ = std::max(most_pieces_, pieces.size());
    for (const ByteRange& piece : pieces) largest_ = std::max(largest_, piece.bytes);
    if (move.from == rank_) out_[index_of(move.to)] = {move, pieces};
    if (move.to == rank_) in_[index_of(move.from)] = {move, pieces};
  }

  void write(RankSchedule& schedule) {
    const StagedMoveLanes lanes(options_.copying);
    const int pushing = lanes_for(options_.copying, largest_);
    const int side = pushing - 1 + (local_.empty() ? 0 : 1), first_out = lanes.beside + 1;
    ScheduleWriter writer(schedule);
    writer.fork(1, side);
    writer.fork(first_out, lanes.copying_out);
    copy_local(writer, side);
    CopyOrder pushes(writer, 0, pushing, options_.copying.in_order, slots_move(pushing));
    CopyOrder copies_out(writer, first_out, lanes.copying_out, options_.copying.in_order,
                         slots_move(lanes.copying_out));
    for (std::size_t piece = 0; piece < most_pieces_; ++piece) {
      for (int step = 1; step < ranks_; ++step) push(pushes, piece, step);
      for (int step = 1; step < ranks_; ++step) copy_out(copies_out, piece, step);
    }
    writer.join(1, side);
    writer.join(first_out, lanes.copying_out);
  }

  void copy_local(ScheduleWriter& writer, int lane) const {
    Step step;
    step.lane = lane;
    for (const Move& move : local_) {
      step.copies.push_back({{BufferRole::recv, rank_, move.to_offset, move.bytes},
                             {BufferRole::send, rank_, move.from_offset, move.bytes},
                             Executor::kernel,
                             kLocalShape});
    }
    if (!local_.empty()) writer.add(std::move(step));
  }

  void push(CopyOrder& pushes, std::size_t piece, int step) const {
    const int to = (rank_ + step) % ranks_, slot = slot_of(piece);
    const Route& route = out_[index_of(to)];
    Step copy;
    if (has_token_) copy.waits.push_back(token(rank_, to));
    if (has_token_) copy.signals.push_back(token_after(to));
    if (piece < route.pieces.size()) {
      const ByteRange& now = route.pieces[piece];
      copy.waits.push_back({kFree, rank_, to, slot});
      copy.copies = {{slot_at(to, rank_, slot, now.bytes),
                      {BufferRole::send, rank_, route.move.from_offset + now.begin, now.bytes},
                      options_.copying.executor,
                      {}}};
      copy.signals.push_back({kFull, to, rank_, slot});
      if (swaps(to)) copy.signals.push_back({kPushed, rank_, to, static_cast<int>(piece)});
    }
    pushes.add(std::move(copy), step);
  }

  void copy_out(CopyOrder& copies_out, std::size_t piece, int step) const {
    const int from = (rank_ + ranks_ - step) % ranks_, slot = slot_of(piece);
    const Route& route = in_[index_of(from)];
    Step copy;
    if (piece >= route.pieces.size()) return copies_out.add(std::move(copy), step);
    const ByteRange& now = route.pieces[piece];
    copy.waits = {{kFull, rank_, from, slot}};
    if (swaps(from)) copy.waits.push_back({kPushed, rank_, from, static_cast<int>(piece)});
    copy.copies = {{{BufferRole::recv, rank_, route.move.to_offset + now.begin, now.bytes},
                    slot_at(rank_, from, slot, now.bytes),
                    kCopyOutExecutor,
                    {}}};
    copy.signals = {{kFree, from, rank_, slot}};
    copies_out.add(std::move(copy), step);
  }

  // Whether what `peer` sends is received where what goes to it is sent from.
  bool swaps(int peer) const {
    return options_.swaps && !in_[index_of(peer)].pieces.empty() &&
           !out_[index_of(peer)].pieces.empty();
  }

  // Whether the semaphores of a slot are awaited on one lane now and on another one later.
  bool slots_move(int lanes) const {
    return most_pieces_ > static_cast<std::size_t>(slots_) && slots_ * (ranks_ - 1) % lanes != 0;
  }

  int slot_of(std::size_t piece) const { return static_cast<int>(piece) % slots_; }
  Place slot_at(int owner, int source, int slot, std::uint64_t bytes) const {
    const int row = (source - owner + ranks_ - 1) % ranks_;
    return {BufferRole::slots, owner, static_cast<std::uint64_t>(row * slots_ + slot) * slot_bytes_,
            bytes};
  }

  // The send token of `to`, at `owner`. Of a piece rank to - 1 pushes first and rank to + 1 last;
  // the next piece begins with the first. A rank without bytes for the receiver passes the token on
  // as well.
  SemaphoreAt token(int owner, int to) const {
    return {(owner + 1) % ranks_ == to ? kFirstToken : kToken, owner, to, 0};
  }
  SemaphoreAt token_after(int to) const {
    const int before = (rank_ + ranks_ - 1) % ranks_;
    return token(before == to ? (to + ranks_ - 1) % ranks_ : before, to);
  }

  std::string text() const {
    const std::string text = fmt::format("pushes through {} slots", slots_);
    return local_.empty() ? text : text + "; " + text_of(LocalCopyMethod::few_blocks);
  }

  const StagedMoveOptions& options_;
  const int rank_, ranks_;
  std::vector<Route> out_, in_;  // by the other rank
  std::vector<Move> local_;
  std::size_t most_pieces_ = 0;  // of any move
  std::uint64_t largest_ = 0;    // piece, in bytes
  int moved_ = 0;                // moves from one rank to another
  int slots_ = 1;
  std::uint64_t slot_bytes_ = 0;
  bool has_token_ = false;
};

}  // namespace

RankSchedule staged_moves(const std::vector<Move>& moves, int rank, int ranks,
                          const StagedMoveOptions& options) {
  return StagedMoves(moves, rank, ranks, options).schedule();
}

}  // namespace duet
