// An exchange for each step, bound to the ranks' buffers.
#include "collectives/peer/kernel_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "collectives/peer/parts.h"
#include "collectives/peer/staged.h"

namespace duet {
namespace {

// From this size on twice as many reduce: 64 MiB on 4 x H200 in 169 instead of 173 us.
constexpr std::uint64_t kManyBytes = 16 << 20;
constexpr int kLeastMovingBlocks = 16;
constexpr int kMostMovingBlocks = 64;
constexpr int kStagedBlocks = 32;
constexpr std::uint64_t kBytesPerBlock = 16 << 10;  // of what goes from one rank to another

// The same on every rank: as many as the largest part keeps busy. Of an all_reduce the second step
// moves.
int blocks_for(const Collective& c, int ranks, bool staged, std::size_t step) {
  if (reduces(c.kind) && step == 0) {
    return size_bytes(c, ranks) < kManyBytes ? kReducingBlocks : 2 * kReducingBlocks;
  }
  if (staged) return kStagedBlocks;
  const std::vector<Move> all = reduces(c.kind) ? spreading(c, ranks) : moves(c, ranks);
  std::uint64_t largest = 0;
  for (const Move& move : all) largest = std::max(largest, move.bytes);
  return static_cast<int>(
      std::clamp<std::uint64_t>(largest / kBytesPerBlock, kLeastMovingBlocks, kMostMovingBlocks));
}

double wire_bytes_of(const Items& items, int rank, const PeerMemory& recv) {
  double bytes = 0;
  for (const ExchangeItem& item : items) {
    for (const Span& target : item.destinations) {
      const Span& own = recv.at(rank);
      const bool here = target.data >= own.data && target.data < own.data + own.bytes;
      if (!here) bytes += static_cast<double>(target.bytes);
    }
  }
  return bytes;
}

}  // namespace

KernelPlan::KernelPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
                       Watchdog& watchdog, const KernelLaunch& launch)
    : watchdog_(watchdog),
      name_(name(collective.kind)),
      send_(rank, buffers.send, "the other ranks' send buffers"),
      recv_(rank, buffers.recv, "the other ranks' receive buffers"),
      staged_bytes_(launch.prepare ? 0 : staged_part(collective, send_, recv_)),
      steps_(exchange_steps(collective, rank.index, send_, recv_)),
      blocks_(blocks_of_steps(collective, rank.size, launch)),
      words_(rank,
             launch.prepare ? 0 : std::accumulate(blocks_.begin(), blocks_.end(), 0) * rank.size) {
  if (staged_bytes_ > 0) packet_buffers_.emplace(rank, staging_bytes(staged_bytes_));
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    Exchange exchange = exchange_of(rank, collective, step);
    if (launch.prepare) {
      exchanges_.push_back(launch.prepare(rank.device, exchange));
    } else {
      meet(exchange, rank, step);
      exchanges_.push_back(rank.device.prepare(exchange));
    }
    wire_bytes_ += wire_bytes_of(steps_[step], rank.index, recv_);
  }
  // What a rank reads of others leaves them: of a reduction each rank's part goes to every other.
  if (reduces(collective.kind) && !steps_.front().empty()) {
    const double all = static_cast<double>(buffers.send.bytes);
    wire_bytes_ += all - static_cast<double>(item_bytes(steps_.front().front()));
  }
  watchdog_.add(&words_);
}

std::vector<int> KernelPlan::blocks_of_steps(const Collective& collective, int ranks,
                                             const KernelLaunch& launch) const {
  std::vector<int> blocks;
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    blocks.push_back(launch.blocks > 0 ? launch.blocks
                                       : blocks_for(collective, ranks, staged_bytes_ > 0, step));
  }
  return blocks;
}

KernelPlan::~KernelPlan() { watchdog_.remove(&words_); }

Exchange KernelPlan::exchange_of(const Rank& rank, const Collective& collective,
                                 std::size_t step) const {
  Exchange exchange;
  exchange.items = steps_[step];
  exchange.dtype = collective.dtype;
  exchange.op = collective.op;
  exchange.blocks = blocks_[step];
  // All have come to the first step when one comes to another. What a rank was dealt must have come
  // when it passes it on, but what it has reduced is its own.
  const bool last = step + 1 == steps_.size();
  exchange.opens = step == 0;
  exchange.closes = last || !reduces(collective.kind);
  if (packet_buffers_)
    exchange.staged = staged_way(collective, rank.index, send_, recv_, *packet_buffers_);
  return exchange;
}

void KernelPlan::meet(Exchange& exchange, const Rank& rank, std::size_t step) const {
  const auto end = blocks_.begin() + static_cast<std::ptrdiff_t>(step);
  meet_all(exchange, words_, std::accumulate(blocks_.begin(), end, 0) * rank.size, rank.index,
           rank.size);
}

void KernelPlan::enqueue(Stream& stream) {
  for (const auto& exchange : exchanges_) stream.exchange(*exchange);
}

std::string KernelPlan::algorithm() const {
  if (blocks_.size() == 1) return fmt::format("one kernel of {} blocks", blocks_.front());
  return fmt::format("kernels of {} blocks", fmt::join(blocks_, " and "));
}

}  // namespace duet
