// Why calls cannot mix. A rank writes to the next one only after that one has signalled `ready` in
// the same call. It signals `ready` again only after it has received every piece, and so after the
// rank before it has reset `ready`. A piece's semaphore is signalled again only after its reader
// has reset it.
#include "collectives/schedule/algorithms/relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace duet {
namespace {

constexpr std::uint64_t kMostPieces = 256;
constexpr std::uint64_t kRelayGrain = 2048 * kMostRelayBlocks;  // a slice's unit for every block

// "The piece has arrived" and "may be written", each at a rank for the one before it or behind it.
constexpr int kPieceArrived = 0, kReadyToReceive = 1;

class Relay {
 public:
  Relay(const Collective& collective, int rank, int ranks, const RelayOptions& options)
      : options_(options),
        bytes_(size_bytes(collective, ranks)),
        pieces_(static_cast<int>((bytes_ + options.piece_bytes - 1) / options.piece_bytes)),
        rank_(rank),
        ranks_(ranks),
        position_((rank - collective.root + ranks) % ranks),
        next_((rank + 1) % ranks) {}

  RankSchedule schedule() const {
    RankSchedule schedule;
    schedule.rank = rank_;
    schedule.ranks = ranks_;
    schedule.semaphores = {words("arrived", pieces_), words("ready", 1)};
    schedule.pushes_to_recv = true;
    schedule.algorithm =
        fmt::format("{} pieces passed on from rank to rank by {} blocks", pieces_, options_.blocks);
    Step step;
    step.kernel.blocks = options_.blocks;
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
    group.blocks = options_.blocks;
    return group;
  }
  bool is_last(int position) const { return position + 1 == ranks_; }
  SemaphoreAt arrived(int owner, int piece) const { return {kPieceArrived, owner, 0, piece}; }

  // The last rank need not know when earlier pieces arrive: each block passes its slices in order.
  StepItem passed_on(int piece) const {
    const std::uint64_t begin = static_cast<std::uint64_t>(piece) * options_.piece_bytes;
    const std::uint64_t bytes = std::min(options_.piece_bytes, bytes_ - begin);
    const BufferRole from = position_ == 0 ? BufferRole::send : BufferRole::recv;
    StepItem item;
    item.sources = {{from, rank_, begin, bytes}};
    item.targets = {{BufferRole::recv, next_, begin, bytes}};
    if (position_ == 0 && !options_.in_place) {
      item.targets.push_back({BufferRole::recv, rank_, begin, bytes});
    }
    if (piece == 0) item.waits.push_back({kReadyToReceive, rank_, 0, 0});
    if (position_ > 0) item.waits.push_back(arrived(rank_, piece));
    if (!is_last(position_ + 1) || piece + 1 == pieces_) item.signals = {arrived(next_, piece)};
    return item;
  }

  const RelayOptions& options_;
  const std::uint64_t bytes_;
  const int pieces_;
  const int rank_, ranks_;
  const int position_;  // in the order of ranks from the root on
  const int next_;
};

}  // namespace

std::uint64_t best_relayed_piece(std::uint64_t bytes, int others) {
  // The fixed cost of a piece, as the bytes that take as long.
  constexpr double kPieceCostBytes = 512 << 10;
  const double passes = std::max(1, others - 1);
  const auto best =
      static_cast<std::uint64_t>(std::sqrt(static_cast<double>(bytes) * kPieceCostBytes / passes));
  const std::uint64_t piece = std::max(best, bytes / kMostPieces + 1);
  return (piece + kRelayGrain - 1) / kRelayGrain * kRelayGrain;
}

RankSchedule relay(const Collective& collective, int rank, int ranks, const RelayOptions& options) {
  if (ranks < 2) throw BadArgument(fmt::format("{} ranks: expected at least 2", ranks));
  if (size_bytes(collective, ranks) == 0) throw BadArgument("no bytes: expected some to pass on");
  return Relay(collective, rank, ranks, options).schedule();
}

}  // namespace duet
