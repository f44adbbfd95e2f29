// A reduce_scatter, or the first half of an all_reduce, whose parts are added where they arrive:
// each rank's part of the result begins as a copy of its own elements, and the other ranks add
// theirs to it, one after the other. There are no staging slots, and nothing is read over a link.
// Lane 1 is the kernel's, lane 2 the own part's where it copies.
//
// In step i rank r adds to the part of rank r + i, piece by piece, so that every port has one
// partner at a time:
//
//   owner q                       rank q - 1 (step 1)        rank q - 2 (step 2) ...
//   copy own piece p
//   signal turn(1, p)  ---------> wait turn(1, p)
//                                 add piece p to q
//                                 signal turn(2, p)  ------> wait turn(2, p)
//                                                            add piece p to q
//   wait done  <----------------------------------------- signal done, after the last piece
//
// Elements are thus added in one order, call by call. In place nothing is copied, and one turn of
// step 1 would do; but a rank does not know whether another one is in place.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/partition.h"
#include "collectives/schedule/algorithms/algorithm.h"
#include "collectives/schedule/local_copy.h"

namespace duet {
namespace {

constexpr int kTurn = 0, kAdded = 1;

// Of a kernel that adds, each of one warp. In a program of its own, two H200 added bf16 at 304 GB/s
// with 8 blocks, 312 with 16 and 328 with all of 132.
constexpr int kAddingBlocks = 16;

// Pieces of a part: adding begins when the first of the own elements have been copied.
constexpr std::uint64_t kAddedPiece = 32 << 20;

class Additions {
 public:
  explicit Additions(const AlgorithmInput& input)
      : collective_(input.collective), rank_(input.rank), ranks_(input.ranks), input_(input) {
    std::uint64_t longest = 0;
    for (int each = 0; each < ranks_; ++each) {
      longest = std::max(longest, reduced_part(collective_, each, ranks_).bytes);
    }
    pieces_ = cut_into_pieces(longest, input.largest_piece > 0 ? input.largest_piece : kAddedPiece);
  }

  RankSchedule schedule() const {
    RankSchedule schedule;
    schedule.rank = rank_;
    schedule.ranks = ranks_;
    schedule.semaphores = {{"turn", (ranks_ - 1) * pieces(), 0, false, false},
                           {"done", 1, 0, false, false}};
    schedule.pushes_to_recv = true;
    schedule.algorithm = fmt::format("added where parts arrive, by {} blocks", kAddingBlocks);
    if (pieces_.empty()) return schedule;
    ScheduleWriter writer(schedule);
    const int side = std::min(2, input_.copying.count);
    writer.fork(1, side);
    writer.add(adding());
    for (int piece = 0; piece < pieces(); ++piece) writer.add(own(piece, side > 1 ? 2 : 0));
    writer.join(1, side, {done(rank_)});
    return schedule;
  }

 private:
  int pieces() const { return static_cast<int>(pieces_.size()); }

  // At the rank that adds in this step, which waits for it.
  SemaphoreAt turn(int owner, int step, int piece) const {
    return {kTurn, (owner + ranks_ - step) % ranks_, 0, (step - 1) * pieces() + piece};
  }
  SemaphoreAt done(int owner) const { return {kAdded, owner, 0, 0}; }

  // Piece `piece` of a rank's part, where its part may be shorter than the longest.
  ByteRange piece_of(int rank, int piece) const {
    const std::uint64_t bytes = reduced_part(collective_, rank, ranks_).bytes;
    const ByteRange& longest = pieces_[index_of(piece)];
    const std::uint64_t begin = std::min(longest.begin, bytes);
    return {begin, std::min(longest.bytes, bytes - begin)};
  }

  // What this rank has of a piece, and where its sum goes.
  Place sent(int owner, const ByteRange& piece) const {
    const std::uint64_t begin = reduced_part(collective_, owner, ranks_).begin;
    return {BufferRole::send, rank_, begin + piece.begin, piece.bytes};
  }
  Place sum(int owner, const ByteRange& piece) const {
    const std::uint64_t begin = reduced_target(collective_, owner, ranks_);
    return {BufferRole::recv, owner, begin + piece.begin, piece.bytes};
  }

  Step own(int piece, int lane) const {
    const ByteRange now = piece_of(rank_, piece);
    Step step;
    step.lane = lane;
    if (now.bytes > 0 && !input_.in_place) {
      const LocalCopyMethod method = choose_local_copy(now.bytes, input_.aligned_alike, false);
      step.copies.push_back(
          {sum(rank_, now), sent(rank_, now), Executor::kernel, shape_of(method)});
    }
    step.signals = {turn(rank_, 1, piece)};
    return step;
  }

  Step adding() const {
    Step step;
    step.lane = 1;
    step.kernel.dtype = collective_.dtype;
    step.kernel.blocks = kAddingBlocks;
    step.kernel.adds = true;
    for (int distance = 1; distance < ranks_; ++distance) {
      for (int piece = 0; piece < pieces(); ++piece) {
        step.kernel.items.push_back(addition(distance, piece));
      }
    }
    return step;
  }

  StepItem addition(int step, int piece) const {
    const int owner = (rank_ + step) % ranks_;
    const ByteRange now = piece_of(owner, piece);
    StepItem item;
    if (now.bytes > 0) {
      item.targets = {sum(owner, now)};
      item.sources = {sum(owner, now), sent(owner, now)};
    }
    item.waits = {turn(owner, step, piece)};
    if (step + 1 < ranks_) {
      item.signals = {turn(owner, step + 1, piece)};
    } else if (piece + 1 == pieces()) {
      item.signals = {done(owner)};
    }
    return item;
  }

  const Collective& collective_;
  const int rank_, ranks_;
  const AlgorithmInput& input_;
  std::vector<ByteRange> pieces_;  // of the longest part
};

}  // namespace

Algorithm additions() {
  return {"additions",
          [](const AlgorithmInput& in) {
            return reduces(in.collective.kind) && in.ranks > 1 && in.all_add;
          },
          made_by<Additions>,
          Half::first,
          false,
          2};
}

}  // namespace duet
