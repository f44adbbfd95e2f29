// A large broadcast by kernels behind a switch: pieces go from rank to rank, and each block of a
// kernel passes its slices on to the same block of the next rank's kernel. All blocks run at once.
//
// Why calls cannot mix. A rank writes to the next one only after that one has signalled `ready` in
// the same call. It signals `ready` again only after it has received every piece, and so after the
// rank before it has reset `ready`. A piece's semaphore is signalled again only after its reader
// has reset it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "collectives/schedule/algorithms/algorithm.h"

namespace duet {
namespace {

// 1 GiB on 4 x H200: 32 blocks 315 GB/s, 64 348, 128 357; 64 MiB: 269, 266, 264.
constexpr int kMostBlocks = 128;
constexpr std::uint64_t kMostPieces = 256;
constexpr std::uint64_t kRelayGrain = 2048 * kMostBlocks;  // a slice's unit for every block

// The piece size with which a broadcast of `bytes` to `others` ranks takes the least time.
std::uint64_t best_piece(std::uint64_t bytes, int others) {
  // The fixed cost of a piece, as the bytes that take as long.
  constexpr double kPieceCostBytes = 512 << 10;
  const double passes = std::max(1, others - 1);
  const auto best =
      static_cast<std::uint64_t>(std::sqrt(static_cast<double>(bytes) * kPieceCostBytes / passes));
  const std::uint64_t piece = std::max(best, bytes / kMostPieces + 1);
  return (piece + kRelayGrain - 1) / kRelayGrain * kRelayGrain;
}

// "The piece has arrived" and "may be written", each at a rank for the one before it or behind it.
constexpr int kPieceArrived = 0, kReadyToReceive = 1;

class Relay {
 public:
  explicit Relay(const AlgorithmInput& input)
      : in_place_(input.in_place),
        bytes_(size_bytes(input.collective, input.ranks)),
        piece_bytes_(input.largest_piece > 0 ? input.largest_piece
                                             : best_piece(bytes_, input.ranks - 1)),
        pieces_(static_cast<int>((bytes_ + piece_bytes_ - 1) / piece_bytes_)),
        blocks_(std::min(kMostBlocks, input.units)),
        rank_(input.rank),
        ranks_(input.ranks),
        position_((rank_ - input.collective.root + ranks_) % ranks_),
        next_((rank_ + 1) % ranks_) {}

  RankSchedule schedule() const {
    RankSchedule schedule;
    schedule.rank = rank_;
    schedule.ranks = ranks_;
    schedule.semaphores = {words("arrived", pieces_), words("ready", 1)};
    schedule.pushes_to_recv = true;
    schedule.algorithm =
        fmt::format("{} pieces passed on from rank to rank by {} blocks", pieces_, blocks_);
    Step step;
    step.kernel.blocks = blocks_;
    step.kernel.by_block = true;
    if (position_ > 0) {
      step.kernel.items.push_back(
          {{}, {}, {}, {{kReadyToReceive, (rank_ + ranks_ - 1) % ranks_, 0, 0}}});
    }
    for (int piece = 0; piece < pieces_ && !is_last(position_); ++piece) {
      step.kernel.items.push_back(passed_on(piece));
    }
    if (is_last(position_))
      step.kernel.items.push_back({{arrived(rank_, pieces_ - 1)}, {}, {}, {}});
    schedule.steps = {std::move(step)};
    return schedule;
  }

 private:
  SemaphoreGroup words(std::string name, int count) const {
    SemaphoreGroup group{std::move(name), count};
    group.for_every_rank = false;
    group.blocks = blocks_;
    return group;
  }
  bool is_last(int position) const { return position + 1 == ranks_; }
  SemaphoreAt arrived(int owner, int piece) const { return {kPieceArrived, owner, 0, piece}; }

  // The last rank need not know when earlier pieces arrive: each block passes its slices in order.
  StepItem passed_on(int piece) const {
    const std::uint64_t begin = static_cast<std::uint64_t>(piece) * piece_bytes_;
    const std::uint64_t bytes = std::min(piece_bytes_, bytes_ - begin);
    const BufferRole from = position_ == 0 ? BufferRole::send : BufferRole::recv;
    StepItem item;
    item.sources = {{from, rank_, begin, bytes}};
    item.targets = {{BufferRole::recv, next_, begin, bytes}};
    if (position_ == 0 && !in_place_) {
      item.targets.push_back({BufferRole::recv, rank_, begin, bytes});
    }
    if (piece == 0) item.waits.push_back({kReadyToReceive, rank_, 0, 0});
    if (position_ > 0) item.waits.push_back(arrived(rank_, piece));
    if (!is_last(position_ + 1) || piece + 1 == pieces_) item.signals = {arrived(next_, piece)};
    return item;
  }

  const bool in_place_;  // the root's buffers
  const std::uint64_t bytes_, piece_bytes_;
  const int pieces_, blocks_;
  const int rank_, ranks_;
  const int position_;  // in the order of ranks from the root on
  const int next_;
};

}  // namespace

Algorithm relay() {
  return {"relay",
          [](const AlgorithmInput& in) {
            return in.collective.kind == CollectiveKind::broadcast && in.ranks > 1 &&
                   in.collective.count > 0;
          },
          made_by<Relay>};
}

}  // namespace duet
