// One exchange, bound to the ranks' buffers.
#include "collectives/peer/kernel_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/peer/items.h"

namespace duet {
namespace {

constexpr int kMostReducingBlocks = 16;
constexpr int kMostMovingBlocks = 64;
constexpr std::uint64_t kBytesPerBlock = 64 << 10;  // of what one rank handles

// The same on every rank: as many as the largest part of any rank keeps busy.
int blocks_for(const Collective& c, int ranks) {
  const std::uint64_t bytes = size_bytes(c, ranks) / static_cast<std::uint64_t>(ranks);
  const int most = reduces(c.kind) ? kMostReducingBlocks : kMostMovingBlocks;
  return static_cast<int>(
      std::clamp<std::uint64_t>(bytes / kBytesPerBlock, 4, static_cast<std::uint64_t>(most)));
}

double wire_bytes_of(const std::vector<ExchangeItem>& items, int rank, const PeerMemory& recv) {
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
      blocks_(launch.blocks > 0 ? launch.blocks : blocks_for(collective, rank.size)),
      words_(rank, blocks_ * rank.size),
      send_(rank, buffers.send, "the other ranks' send buffers"),
      recv_(rank, buffers.recv, "the other ranks' receive buffers") {
  Exchange exchange;
  exchange.items = exchange_items(collective, rank.index, send_, recv_);
  exchange.dtype = collective.dtype;
  exchange.op = collective.op;
  exchange.blocks = blocks_;
  for (int step = 1; step < rank.size; ++step) {
    const int peer = (rank.index + step) % rank.size;
    exchange.arrivals.push_back(words_.at(peer, rank.index * blocks_, blocks_));
    exchange.awaits.push_back(words_.at(rank.index, peer * blocks_, blocks_));
  }
  wire_bytes_ = wire_bytes_of(exchange.items, rank.index, recv_);
  // What a rank reads of others leaves them: of a reduction each rank's part goes to every other.
  if (reduces(collective.kind) && !exchange.items.empty()) {
    const double all = static_cast<double>(buffers.send.bytes);
    wire_bytes_ += all - static_cast<double>(item_bytes(exchange.items.front()));
  }
  exchange_ =
      launch.prepare ? launch.prepare(rank.device, exchange) : rank.device.prepare(exchange);
  watchdog_.add(&words_);
}

KernelPlan::~KernelPlan() { watchdog_.remove(&words_); }

void KernelPlan::enqueue(Stream& stream) {
  watchdog_.require_all_well(name_);
  stream.exchange(*exchange_);
}

std::string KernelPlan::algorithm() const {
  return fmt::format("one kernel of {} blocks", blocks_);
}

}  // namespace duet
