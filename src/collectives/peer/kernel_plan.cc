// An exchange for each step, bound to the ranks' buffers.
#include "collectives/peer/kernel_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/peer/staged.h"

namespace duet {
namespace {

constexpr int kReducingBlocks = 16;
constexpr int kLeastMovingBlocks = 16;
constexpr int kMostMovingBlocks = 64;
constexpr int kStagedBlocks = 32;
constexpr std::uint64_t kBytesPerBlock = 16 << 10;  // of what goes from one rank to another

// The same on every rank: as many as the largest part keeps busy.
int blocks_for(const Collective& c, int ranks, bool staged) {
  if (reduces(c.kind)) return kReducingBlocks;
  if (staged) return kStagedBlocks;
  std::uint64_t largest = 0;
  for (const Move& move : moves(c, ranks)) largest = std::max(largest, move.bytes);
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
      staged_bytes_(staged_part(collective, send_, recv_)),
      blocks_(launch.blocks > 0 ? launch.blocks
                                : blocks_for(collective, rank.size, staged_bytes_ > 0)),
      steps_(exchange_steps(collective, rank.index, send_, recv_)),
      words_(rank, static_cast<int>(steps_.size()) * blocks_ * rank.size) {
  if (staged_bytes_ > 0) boxes_.emplace(rank, staging_bytes(staged_bytes_));
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    const Exchange exchange = exchange_of(rank, collective, step);
    exchanges_.push_back(launch.prepare ? launch.prepare(rank.device, exchange)
                                        : rank.device.prepare(exchange));
    wire_bytes_ += wire_bytes_of(steps_[step], rank.index, recv_);
  }
  // What a rank reads of others leaves them: of a reduction each rank's part goes to every other.
  if (reduces(collective.kind) && !steps_.front().empty()) {
    const double all = static_cast<double>(buffers.send.bytes);
    wire_bytes_ += all - static_cast<double>(item_bytes(steps_.front().front()));
  }
  watchdog_.add(&words_);
}

KernelPlan::~KernelPlan() { watchdog_.remove(&words_); }

Exchange KernelPlan::exchange_of(const Rank& rank, const Collective& collective,
                                 std::size_t step) const {
  Exchange exchange;
  exchange.items = steps_[step];
  exchange.dtype = collective.dtype;
  exchange.op = collective.op;
  exchange.blocks = blocks_;
  const int first = static_cast<int>(step) * rank.size;
  for (int next = 1; next < rank.size; ++next) {
    const int peer = (rank.index + next) % rank.size;
    exchange.arrivals.push_back(words_.at(peer, (first + rank.index) * blocks_, blocks_));
    exchange.awaits.push_back(words_.at(rank.index, (first + peer) * blocks_, blocks_));
  }
  if (boxes_) exchange.staged = staged_way(collective, rank.index, send_, recv_, *boxes_);
  return exchange;
}

void KernelPlan::enqueue(Stream& stream) {
  watchdog_.require_all_well(name_);
  for (const auto& exchange : exchanges_) stream.exchange(*exchange);
}

std::string KernelPlan::algorithm() const {
  return fmt::format("{} of {} blocks", exchanges_.size() == 1 ? "one kernel" : "two kernels",
                     blocks_);
}

}  // namespace duet
