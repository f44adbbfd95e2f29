// A reduce_scatter or all_reduce of rows that the caller multiplies, in which nothing but its
// multiplication adds: sums of a rank's rows go round the ring once, and each rank multiplies onto
// what has come from the one before it. A rank begins with the rows of the rank before it and ends
// with its own, n - 1 steps later:
//
//   step    rank r multiplies rows of      onto             and pushes them to
//   0       r - 1                          nothing          r + 1
//   s       r - 1 - s                      what came        r + 1
//   n - 1   r                              what came        (all_reduce: all)
//
// Sums on their way stand where they belong in the send buffer. In ranges, one is pushed while the
// next one is multiplied, and what a step needs first has come when it begins.
#include <fmt/format.h>

#include <utility>

#include "collectives/partition.h"
#include "collectives/schedule/algorithms/row_sums.h"

namespace duet {
namespace {

class RowRing {
 public:
  explicit RowRing(const AlgorithmInput& input)
      : rank_(input.rank),
        ranks_(input.ranks),
        ranges_(input.collective.rows.ranges),
        sums_(input, {{"come", std::max(1, ranges_ * (ranks_ - 1))}}) {
    sums_.schedule().semaphores.back().for_every_rank = false;
    sums_.schedule().pushes_to_send = ranks_ > 2;
    sums_.schedule().algorithm =
        fmt::format("rows multiplied onto sums that go round, in {} ranges of each rank, on {} {}",
                    ranges_, sums_.streams(), sums_.streams() == 1 ? "stream" : "streams");
  }

  RankSchedule schedule() {
    greet();
    for (int step = 0; step < ranks_; ++step) {
      const int chunk = (rank_ + ranks_ - 1 - step) % ranks_;
      const auto ranges = sums_.ranges_of(chunk);
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        std::vector<SemaphoreAt> come;
        if (step > 0) come = {{kCome, rank_, 0, (step - 1) * ranges_ + static_cast<int>(i)}};
        const int made = sums_.multiply(ranges[i], chunk, step > 0, std::move(come));
        if (step + 1 < ranks_) {
          push(made, ranges[i], chunk, step, static_cast<int>(i));
        } else {
          sums_.send_to_all(made, ranges[i], i + 1 == ranges.size());
        }
      }
    }
    sums_.end();
    return std::move(sums_.schedule());
  }

 private:
  static constexpr int kCome = RowSumsWriter::kOwn;

  int next() const { return (rank_ + 1) % ranks_; }

  // Those that push to this rank: the one before it, of an all_reduce all that have rows.
  void greet() {
    std::vector<int> writers;
    for (int step = 1; step < ranks_; ++step) {
      const int from = (rank_ + step) % ranks_;
      const bool sends = sums_.sends_to_all() && !sums_.ranges_of(from).empty();
      if (step + 1 == ranks_ ? sums_of_ring() || sends : sends) writers.push_back(from);
    }
    sums_.greet(writers);
  }

  // Whether any sums come from the rank before: of all rows but that one's own.
  bool sums_of_ring() const {
    for (int chunk = 0; chunk < ranks_; ++chunk) {
      const bool comes = chunk != (rank_ + ranks_ - 1) % ranks_;
      if (comes && !sums_.ranges_of(chunk).empty()) return true;
    }
    return false;
  }

  void push(int made, const RowBlock& rows, int chunk, int step, int range) {
    sums_.push(made, sums_.place_of(rows, chunk, rank_), sums_.place_of(rows, chunk, next()),
               {{kCome, next(), 0, step * ranges_ + range}});
  }

  const int rank_, ranks_, ranges_;
  RowSumsWriter sums_;
};

}  // namespace

Algorithm row_ring() {
  return {"row-ring",
          [](const AlgorithmInput& in) {
            return reduces(in.collective.kind) && in_ranges(in.collective) &&
                   in.collective.rows.sums == RowSums::by_compute;
          },
          made_by<RowRing>};
}

}  // namespace duet
