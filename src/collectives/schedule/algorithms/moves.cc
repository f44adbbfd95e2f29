// Collectives that only move data: every rank pushes its parts into the others' receive buffers.
//
// A call: signal `ready` to those that write here, wait for `ready` of those this rank writes to,
// push, signal `done` to each of them once a lane has made its last push, and wait for `done` of
// everything that arrives here. In step i rank r writes to rank r + i, so that every port has one
// partner at a time. CopyLanes::in_order is not kept: a peer gets one push a call.
//
// Several lanes fill the pauses between the copies of one. GB/s sent per rank of an all_gather on
// 4 x H200 with 1, 2, 3 lanes: 1 MiB 22, 31, 29; 16 MiB 189, 210, 217; 256 MiB 362, 370, 368. A
// lane for each of seven peers behind one switch halves the rate: copies then collide at the
// receivers.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/schedule/algorithms/algorithm.h"
#include "collectives/schedule/local_copy.h"

namespace duet {
namespace {

class Moves {
 public:
  explicit Moves(const AlgorithmInput& input)
      : input_(input),
        rank_(input.rank),
        ranks_(input.ranks),
        defer_bytes_(input.defer_bytes > 0 ? input.defer_bytes : kDeferLocalCopyBytes),
        to_(index_of(ranks_)),
        comes_(index_of(ranks_), false) {
    for (const Move& move : moves(input.collective, ranks_)) {
      if (move.to == rank_) comes_[index_of(move.from)] = true;
      const bool stays = input.in_place && stays_in_place(input.collective, move);
      if (move.from == rank_ && !stays) to_[index_of(move.to)].push_back(move);
    }
    choose_lanes();
  }

  RankSchedule schedule() {
    RankSchedule schedule;
    schedule.rank = rank_;
    schedule.ranks = ranks_;
    schedule.semaphores = {{"ready"}, {"done"}};
    schedule.pushes_to_recv = true;
    schedule.algorithm = text();
    ScheduleWriter writer(schedule);
    greet(writer);
    const int side = lanes_ - 1 + (to_[index_of(rank_)].empty() ? 0 : 1);
    writer.fork(1, side);
    const int deferred_behind = push(writer);
    copy_local(writer, deferred_behind);
    writer.join(1, side, arrivals());
    return schedule;
  }

 private:
  static constexpr int kReady = 0, kDone = 1;  // "may be written", "has been written"

  int peer(int step) const { return (rank_ + step) % ranks_; }

  void choose_lanes() {
    std::uint64_t local_bytes = 0;
    for (const Move& move : to_[index_of(rank_)]) local_bytes += move.bytes;
    for (int step = 1; step < ranks_; ++step)
      pushed_to_ += to_[index_of(peer(step))].empty() ? 0 : 1;
    lanes_ = std::max(1, std::min(input_.copying.count, pushed_to_));
    local_ = choose_local_copy(local_bytes, input_.aligned_alike, pushed_to_ > 0, defer_bytes_);
  }

  void greet(ScheduleWriter& writer) const {
    Step signals, waits;
    for (int step = 1; step < ranks_; ++step) {
      const int from = peer(ranks_ - step), to = peer(step);
      if (comes_[index_of(from)]) signals.signals.push_back({kReady, from, rank_, 0});
      if (!to_[index_of(to)].empty()) waits.waits.push_back({kReady, rank_, to, 0});
    }
    writer.add(std::move(signals));
    writer.add(std::move(waits));
  }

  std::vector<SemaphoreAt> arrivals() const {
    std::vector<SemaphoreAt> all;
    for (int step = 1; step < ranks_; ++step) {
      const int from = peer(ranks_ - step);
      if (comes_[index_of(from)]) all.push_back({kDone, rank_, from, 0});
    }
    return all;
  }

  StepCopy copy_of(const Move& move, Executor executor, KernelShape shape) const {
    return {{BufferRole::recv, move.to, move.to_offset, move.bytes},
            {BufferRole::send, move.from, move.from_offset, move.bytes},
            executor,
            shape};
  }

  // On the first lane that no push uses; where it is deferred, not before this push, which it would
  // delay. It is enqueued last: in a graph, pushes that are captured behind it wait for it.
  // Captured all_gathers on 4 x H200 with it first and last, not deferred: 64 KiB 39.1 and 24.9 us,
  // 4 MiB 49.7 and 32.5, 32 MiB 141 and 90, 256 MiB 678 and 544 (in place 24.4, 32.3, 88.5, 543);
  // uncaptured ones take as long either way.
  void copy_local(ScheduleWriter& writer, int deferred_behind) const {
    if (to_[index_of(rank_)].empty()) return;
    Step step;
    step.lane = lanes_;
    if (deferred_behind >= 0) step.after_for_speed = {deferred_behind};
    for (const Move& move : to_[index_of(rank_)]) {
      step.copies.push_back(copy_of(move, Executor::kernel, shape_of(local_)));
    }
    writer.add(std::move(step));
  }

  // A lane signals all its peers after its last push, because each call to the driver takes about
  // 1 us. In an all_gather or all_to_all no rank ends before the last step anyway; the first
  // receivers of a scatter end later than they could. Returns the push behind which a deferred
  // local copy may begin, else -1.
  int push(ScheduleWriter& writer) const {
    const bool defers = local_ == LocalCopyMethod::one_warp_per_sm_deferred;
    std::uint64_t left = defers ? defer_bytes_ : 0;
    std::vector<std::vector<SemaphoreAt>> done(index_of(lanes_));
    int pushed = 0, last_before_local = -1;
    for (int step = 1; step < ranks_; ++step) {
      const int to = peer(step), lane = pushed % lanes_;
      if (to_[index_of(to)].empty()) continue;
      ++pushed;
      done[index_of(lane)].push_back({kDone, to, rank_, 0});
      Step rest;
      rest.lane = lane;
      for (Move move : to_[index_of(to)]) {
        if (left > 0) {
          const Move first = take(move, std::min(left, move.bytes));
          left -= first.bytes;
          Step push;
          push.lane = lane;
          push.copies = {copy_of(first, input_.copying.executor, {})};
          last_before_local = writer.add(std::move(push));
        }
        if (move.bytes > 0) rest.copies.push_back(copy_of(move, input_.copying.executor, {}));
      }
      if (pushed + lanes_ > pushed_to_) rest.signals = done[index_of(lane)];
      if (!rest.copies.empty() || !rest.signals.empty()) writer.add(std::move(rest));
    }
    return last_before_local;
  }

  // The move's first `bytes`, which it then has no more.
  static Move take(Move& move, std::uint64_t bytes) {
    Move first = move;
    first.bytes = bytes;
    move.from_offset += bytes;
    move.to_offset += bytes;
    move.bytes -= bytes;
    return first;
  }

  std::string text() const {
    std::string text = fmt::format("direct pushes, {} {}", lanes_, lanes_ == 1 ? "lane" : "lanes");
    return to_[index_of(rank_)].empty() ? text : text + "; " + text_of(local_);
  }

  const AlgorithmInput& input_;
  const int rank_, ranks_;
  const std::uint64_t defer_bytes_;
  std::vector<std::vector<Move>> to_;  // this rank's, by receiver
  std::vector<bool> comes_;            // whether anything does, by sender
  int pushed_to_ = 0;                  // the number of other ranks
  int lanes_ = 1;                      // that push
  LocalCopyMethod local_ = LocalCopyMethod::one_warp_per_sm;
};

}  // namespace

Algorithm direct_moves() {
  return {"direct-pushes",
          [](const AlgorithmInput& in) { return !reduces(in.collective.kind) && !in.any_swaps; },
          made_by<Moves>};
}

}  // namespace duet
