// An all_gather of rows that the caller multiplies: its own rows at once, the others'
// range by range as they arrive. Copy engines push, in step i from rank r to r + i, so that every
// port has one partner at a time; a rank multiplies what comes from r - 1 first, then from r - 2,
// and so on.
//
//   rank r, caller's stream                    lanes                        rank r + i
//   "may be written" --ready--> r - 1          "may be written" --ready--> others
//   multiplies its own rows                    pushes range k --come[k]-->
//   waits for come[k], multiplies range k
//
// Only the first of those that push to a rank hears from its caller's stream: signals take time
// there, which is the multiplication's.
//
// Out of place the own rows are multiplied where they are sent from, and copied behind the pushes
// by few threads, which find room beside the multiplication.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/partition.h"
#include "collectives/schedule/algorithms/algorithm.h"
#include "collectives/schedule/local_copy.h"

namespace duet {
namespace {

class RowGather {
 public:
  explicit RowGather(const AlgorithmInput& input)
      : input_(input),
        rank_(input.rank),
        ranks_(input.ranks),
        streams_(ranks_ > 1 && input.copying.count > 1 ? input.collective.rows.streams : 1),
        pushing_(std::min(input.copying.count - (streams_ - 1), ranks_ - 1)) {}

  RankSchedule schedule() const {
    RankSchedule schedule;
    schedule.rank = rank_;
    schedule.ranks = ranks_;
    schedule.semaphores = {{"ready"}, {"come", input_.collective.rows.ranges}};
    schedule.pushes_to_recv = schedule.multiplies_rows = true;
    schedule.algorithm = fmt::format(
        "rows multiplied in {} ranges of each rank as they come{}, on {} {}",
        input_.collective.rows.ranges,
        input_.collective.rows.joined ? ", those of two ranks and of all others at once" : "",
        streams_, streams_ == 1 ? "stream" : "streams");
    if (input_.collective.count == 0) return schedule;
    ScheduleWriter writer(schedule);
    if (ranks_ > 1) greet(writer, 1, 0);
    const int side = pushing_ + streams_ - 1;
    writer.fork(1, side);
    for (const RowBlock& range : ranges_of(rank_))
      writer.add(multiplied(range, own_place(range), 0));
    for (int step = 2; step < ranks_; ++step) greet(writer, step, lane_of(step));
    for (int step = 1; step < ranks_; ++step) push(writer, (rank_ + step) % ranks_, lane_of(step));
    copy_own(writer);
    receive(writer);
    writer.join(1, side);
    return schedule;
  }

 private:
  static constexpr int kReady = 0, kCome = 1;
  static constexpr int kFirstJoined = 2;  // ranks

  // The own rows are there at once, and need no ranges.
  std::vector<RowBlock> ranges_of(int rank) const {
    if (rank != rank_) return duet::ranges_of(input_.collective, rank, ranks_);
    return {rows_of(input_.collective, rank, ranks_)};
  }

  // Rows that have come to a rank, and this rank's own where they are sent from.
  Place place_of(const RowBlock& range, int rank) const {
    const std::uint64_t bytes = row_bytes(input_.collective);
    return {BufferRole::recv, rank, range.first * bytes, range.count * bytes};
  }
  Place own_place(const RowBlock& range) const {
    const std::uint64_t bytes = row_bytes(input_.collective);
    const std::uint64_t first = rows_of(input_.collective, rank_, ranks_).first;
    return {BufferRole::send, rank_, (range.first - first) * bytes, range.count * bytes};
  }

  static Step multiplied(const RowBlock& range, const Place& place, int lane) {
    Step step;
    step.lane = lane;
    step.rows = StepRows{range, place};
    return step;
  }

  void copy_own(ScheduleWriter& writer) const {
    if (input_.in_place) return;
    const RowBlock own = rows_of(input_.collective, rank_, ranks_);
    Step step;
    step.lane = pushing_ > 0 ? 1 : 0;
    step.copies = {{place_of(own, rank_), own_place(own), Executor::kernel,
                    shape_of(LocalCopyMethod::one_warp_per_sm)}};
    writer.add(std::move(step));
  }

  // The lane of the push in a step.
  int lane_of(int step) const { return 1 + (step - 1) % pushing_; }

  // The rank that pushes to this one in a step.
  void greet(ScheduleWriter& writer, int step, int lane) const {
    Step ready;
    ready.lane = lane;
    ready.signals = {{kReady, (rank_ + ranks_ - step) % ranks_, rank_, 0}};
    writer.add(std::move(ready));
  }

  void push(ScheduleWriter& writer, int to, int lane) const {
    const auto ranges = duet::ranges_of(input_.collective, rank_, ranks_);
    Step ready;
    ready.lane = lane;
    ready.waits = {{kReady, rank_, to, 0}};
    writer.add(std::move(ready));
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      Step step;
      step.lane = lane;
      step.copies = {{place_of(ranges[i], to), own_place(ranges[i]), input_.copying.executor, {}}};
      step.signals = {{kCome, to, rank_, static_cast<int>(i)}};
      writer.add(std::move(step));
    }
  }

  // What is multiplied at once, and what it waits for.
  struct Arrival {
    RowBlock rows;
    std::vector<SemaphoreAt> come;
  };

  // In the order in which they come.
  std::vector<Arrival> arrivals() const {
    std::vector<Arrival> all;
    for (int step = 1; step < ranks_; ++step) {
      const int from = (rank_ + ranks_ - step) % ranks_;
      const auto ranges = ranges_of(from);
      const bool joins = joins_the_last(step, from);
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (!joins && (i == 0 || !input_.collective.rows.joined)) all.emplace_back();
        Arrival& of = all.back();
        if (of.rows.count == 0 || ranges[i].first < of.rows.first) of.rows.first = ranges[i].first;
        of.rows.count += ranges[i].count;
        of.come.push_back({kCome, rank_, from, static_cast<int>(i)});
      }
    }
    return all;
  }

  // Whether rows are multiplied at once with those of the step before, which stand behind them but
  // of the last rank.
  bool joins_the_last(int step, int from) const {
    return input_.collective.rows.joined && step != 1 && step != 1 + kFirstJoined &&
           from != ranks_ - 1;
  }

  // In turns on the lane behind those that push, beside the own rows, and on the caller's stream.
  void receive(ScheduleWriter& writer) const {
    int number = 0;
    for (Arrival& each : arrivals()) {
      Step step;
      step.lane = streams_ == 2 && number++ % 2 == 0 ? pushing_ + 1 : 0;
      step.waits = std::move(each.come);
      const int lane = step.lane;
      writer.add(std::move(step));
      writer.add(multiplied(each.rows, place_of(each.rows, rank_), lane));
    }
  }

  const AlgorithmInput& input_;
  const int rank_, ranks_;
  const int streams_;  // that multiply
  const int pushing_;  // lanes that push
};

}  // namespace

Algorithm row_gather() {
  return {"row-gather",
          [](const AlgorithmInput& in) {
            return in.collective.kind == CollectiveKind::all_gather && in_ranges(in.collective);
          },
          made_by<RowGather>};
}

}  // namespace duet
