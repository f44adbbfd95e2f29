// A reduce_scatter or all_reduce of rows that the caller multiplies: each rank pushes its sums of
// the others' rows into slots of their owners, in step i of those that rank r + 1 + i keeps, and
// multiplies its own rows last. Behind them a kernel adds all ranks' sums, in rank order.
//
// Of an all_reduce nobody asks whether it may write: a rank has the others' rows of the last call,
// so their slots have been read, and sends its own only when all ranks' sums of them have come. So
// its slots are its own: a reduce_scatter tells nobody that it has read them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/partition.h"
#include "collectives/schedule/algorithms/row_sums.h"

namespace duet {
namespace {

class RowSlots {
 public:
  explicit RowSlots(const AlgorithmInput& input)
      : input_(input), rank_(input.rank), ranks_(input.ranks), sums_(input, {{"come"}}) {
    const std::uint64_t most = rows_of(input.collective, 0, ranks_).count;
    chunk_bytes_ = most * row_bytes(input.collective);
    sums_.schedule().slot_bytes = chunk_bytes_ * static_cast<std::uint64_t>(ranks_ - 1);
    sums_.schedule().may_share_memory = !sums_.sends_to_all();
    sums_.schedule().algorithm =
        fmt::format("rows multiplied in {} ranges of each rank on {} {}, added from {} slots",
                    input.collective.rows.ranges, sums_.streams(),
                    sums_.streams() == 1 ? "stream" : "streams", ranks_ - 1);
  }

  RankSchedule schedule() {
    if (!sums_.sends_to_all()) greet();
    for (int step = 1; step < ranks_; ++step) send(wrapped(step));
    int made = -1;
    const RowBlock own = rows_of(input_.collective, rank_, ranks_);
    if (own.count > 0) made = sums_.multiply(own, rank_, false);
    if (own.count > 0 && ranks_ > 1) made = add(own, made);
    if (own.count > 0) sums_.send_to_all(made, own, true);
    sums_.end();
    return std::move(sums_.schedule());
  }

 private:
  static constexpr int kCome = RowSumsWriter::kOwn;

  int wrapped(int step) const { return (rank_ + step) % ranks_; }

  void greet() {
    std::vector<int> writers;
    const bool has_rows = rows_of(input_.collective, rank_, ranks_).count > 0;
    for (int step = 1; has_rows && step < ranks_; ++step) writers.push_back(wrapped(step));
    sums_.greet(writers);
  }

  Place slot(int owner, int source, const RowBlock& range) const {
    const auto number = static_cast<std::uint64_t>((source - owner - 1 + ranks_) % ranks_);
    const std::uint64_t first = rows_of(input_.collective, owner, ranks_).first;
    const std::uint64_t bytes = row_bytes(input_.collective);
    return {BufferRole::slots, owner, number * chunk_bytes_ + (range.first - first) * bytes,
            range.count * bytes};
  }

  void send(int to) {
    const auto ranges = sums_.ranges_of(to);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const int made = sums_.multiply(ranges[i], to, false);
      std::vector<SemaphoreAt> come;
      if (i + 1 == ranges.size()) come = {{kCome, to, rank_, 0}};
      sums_.push(made, sums_.place_of(ranges[i], to, rank_), slot(to, rank_, ranges[i]),
                 std::move(come));
    }
  }

  // Behind the step that has made the own sums.
  int add(const RowBlock& own, int made) {
    Step step;
    if (sums_.schedule().steps[index_of(made)].lane != 0) step.after = {made};
    StepItem item;
    item.targets = {sums_.place_of(own, rank_, rank_)};
    for (int source = 0; source < ranks_; ++source) {
      item.sources.push_back(source == rank_ ? item.targets.front() : slot(rank_, source, own));
      if (source != rank_) step.waits.push_back({kCome, rank_, source, 0});
    }
    step.kernel.blocks = input_.units;
    step.kernel.dtype = input_.collective.dtype;
    step.kernel.op = input_.collective.op;
    step.kernel.items = {std::move(item)};
    return sums_.writer().add(std::move(step));
  }

  const AlgorithmInput& input_;
  const int rank_, ranks_;
  std::uint64_t chunk_bytes_ = 0;
  RowSumsWriter sums_;
};

}  // namespace

Algorithm row_slots() {
  return {"row-slots",
          [](const AlgorithmInput& in) {
            return reduces(in.collective.kind) && in_ranges(in.collective) &&
                   in.collective.rows.sums == RowSums::in_slots;
          },
          made_by<RowSlots>};
}

}  // namespace duet
