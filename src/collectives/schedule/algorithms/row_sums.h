// What reductions of rows that the caller multiplies have in common.
#pragma once

#include <vector>

#include "collectives/schedule/algorithms/algorithm.h"

namespace duet {

class RowSumsWriter {
 public:
  // A schedule that forks, without other steps: `ready` is group 0, `done` group 1, `own` the next
  // ones.
  RowSumsWriter(const AlgorithmInput& input, std::vector<SemaphoreGroup> own);

  static constexpr int kReady = 0, kDone = 1, kOwn = 2;
  // Pushes go by the lane behind the caller's stream; every second multiplication by the next one
  // if there are two streams.
  static constexpr int kLane = 1;

  RankSchedule& schedule() { return schedule_; }
  ScheduleWriter& writer() { return writer_; }

  // Rank `at`'s sums of rows that rank `chunk` keeps: its own stand in its receive buffer, others
  // in its send buffer.
  Place place_of(const RowBlock& range, int chunk, int at) const;
  std::vector<RowBlock> ranges_of(int chunk) const;
  int streams() const { return streams_; }  // that multiply
  bool sends_to_all() const { return input_.collective.kind == CollectiveKind::all_reduce; }

  // Each rank tells others that they may write there, which the first push to it waits for: here
  // these ones. Without this call nobody is asked.
  void greet(const std::vector<int>& writers);
  // A step that multiplies rows of a chunk, when these semaphores are 1. Returns its number.
  int multiply(const RowBlock& range, int chunk, bool adds, std::vector<SemaphoreAt> waits = {});
  // A push behind an earlier step.
  void push(int behind, const Place& from, const Place& to, std::vector<SemaphoreAt> signals);
  // Of an all_reduce: a range of this rank's rows, whose sums are there behind a step, to all
  // others; `is_last`: of its ranges.
  void send_to_all(int behind, const RowBlock& range, bool is_last);
  // The caller's stream goes on when all pushes have ended and all ranks' rows are here.
  void end();

 private:
  const AlgorithmInput& input_;
  RankSchedule schedule_;
  ScheduleWriter writer_;
  bool asks_ = false;
  bool greets_aside_ = false;  // by the lane that pushes
  std::vector<bool> asked_;    // by rank: whether a push has waited for `ready`
  int streams_ = 1;
  int multiplied_ = 0;  // multiplications so far
  int beside_ = -1;     // the last one on the second stream
  int behind_ = -1;     // the step behind which the last push is
};

}  // namespace duet
