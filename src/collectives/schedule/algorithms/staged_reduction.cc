// A reduce_scatter, or the first half of an all_reduce, whose bytes move by copy engines. Pieces
// are pushed into staging slots of the rank that reduces them, and a kernel of few blocks, on lane
// copying.count at most, reduces each piece when all ranks' copies of it have arrived.
//
// In step i of a piece rank r pushes to rank r + i: every port has one partner at a time, and all
// ranks' copies of a piece arrive at about the same time.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/partition.h"
#include "collectives/schedule/algorithms/algorithm.h"
#include "collectives/schedule/algorithms/copy_order.h"
#include "collectives/schedule/algorithms/staging_slots.h"
#include "device/collective_kernel.h"

namespace duet {
namespace {

class StagedReduction {
 public:
  explicit StagedReduction(const AlgorithmInput& input)
      : collective_(input.collective), rank_(input.rank), input_(input) {
    const int ranks = input.ranks;
    const std::uint64_t largest_piece =
        input.largest_piece > 0 ? input.largest_piece : kLargestPiece;
    std::size_t most = 0;
    std::uint64_t largest = 0;
    for (int each = 0; each < ranks; ++each) {
      const ByteRange own = reduced_part(collective_, each, ranks);
      begins_.push_back(own.begin);
      pieces_.push_back(cut_into_pieces(own.bytes, largest_piece));
      most = std::max(most, pieces_.back().size());
      for (const ByteRange& piece : pieces_.back()) largest = std::max(largest, piece.bytes);
    }
    lanes_ = lanes_for(input.copying, largest);
    slots_ = StagingSlots(rank_, ranks, most, largest + kVectorBytes,
                          needs_send_token(input.copying, most));
  }

  RankSchedule schedule() const {
    RankSchedule schedule = slots_.schedule();
    schedule.algorithm = fmt::format("pushes through {} slots; reduced by {} blocks",
                                     slots_.count(), blocks_that_reduce(slots_.ranks()));
    schedule.may_share_memory = true;
    ScheduleWriter writer(schedule);
    writer.fork(1, lanes_);
    reduce(writer);
    CopyOrder pushes(writer, 0, lanes_, input_.copying.in_order);
    for (std::size_t piece = 0; piece < slots_.most_pieces(); ++piece) {
      for (int step = 1; step < slots_.ranks(); ++step) push(pushes, piece, step);
    }
    writer.join(1, lanes_);
    return schedule;
  }

 private:
  const std::vector<ByteRange>& pieces_of(int rank) const { return pieces_[index_of(rank)]; }

  Place in_slot(int owner, int source, std::size_t piece, std::uint64_t bytes) const {
    Place place = slots_.at(owner, source, piece, bytes);
    if (!input_.shifts.empty()) {
      place.offset += static_cast<std::uint64_t>(input_.shifts[index_of(owner)]);
    }
    return place;
  }

  void push(CopyOrder& pushes, std::size_t piece, int step) const {
    const int to = (rank_ + step) % slots_.ranks();
    Step copy = slots_.push(to);
    if (piece < pieces_of(to).size()) {
      const ByteRange& now = pieces_of(to)[piece];
      copy.waits.push_back(slots_.free(rank_, to, piece));
      copy.copies = {{in_slot(to, rank_, piece, now.bytes),
                      {BufferRole::send, rank_, begins_[index_of(to)] + now.begin, now.bytes},
                      input_.copying.executor,
                      {}}};
      copy.signals.push_back(slots_.full(to, rank_, piece));
    }
    pushes.add(std::move(copy), step);
  }

  void reduce(ScheduleWriter& writer) const {
    Step step;
    step.lane = lanes_;
    step.kernel.dtype = collective_.dtype;
    step.kernel.op = collective_.op;
    step.kernel.blocks = blocks_that_reduce(slots_.ranks());
    for (std::size_t piece = 0; piece < pieces_of(rank_).size(); ++piece) {
      step.kernel.items.push_back(reduced(piece));
    }
    if (!step.kernel.items.empty()) writer.add(std::move(step));
  }

  StepItem reduced(std::size_t piece) const {
    const ByteRange& now = pieces_of(rank_)[piece];
    const std::uint64_t begin = begins_[index_of(rank_)];
    const std::uint64_t target = reduced_target(collective_, rank_, slots_.ranks());
    StepItem item;
    item.sources = {{BufferRole::send, rank_, begin + now.begin, now.bytes}};
    item.targets = {{BufferRole::recv, rank_, target + now.begin, now.bytes}};
    for (int step = 1; step < slots_.ranks(); ++step) {
      const int from = (rank_ + step) % slots_.ranks();
      item.sources.push_back(in_slot(rank_, from, piece, now.bytes));
      item.waits.push_back(slots_.full(rank_, from, piece));
      item.signals.push_back(slots_.free(from, rank_, piece));
    }
    return item;
  }

  const Collective& collective_;
  const int rank_;
  const AlgorithmInput& input_;
  std::vector<std::uint64_t> begins_;           // by rank: of what it reduces
  std::vector<std::vector<ByteRange>> pieces_;  // likewise
  int lanes_ = 1;                               // that push
  StagingSlots slots_;
};

}  // namespace

Algorithm staged_reduction() {
  return {"staged-reduction", [](const AlgorithmInput& in) { return reduces(in.collective.kind); },
          made_by<StagedReduction>, Half::first};
}

}  // namespace duet
