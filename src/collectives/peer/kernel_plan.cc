#include "collectives/peer/kernel_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "collectives/peer/kernel_items.h"
#include "collectives/peer/partition.h"

namespace duet {
namespace {

// From this size on twice as many reduce: 64 MiB on 4 x H200 in 169 instead of 173 us.
constexpr std::uint64_t kManyBytes = 16 << 20;
constexpr int kLeastMovingBlocks = 16;
constexpr int kMostMovingBlocks = 64;
constexpr int kPacketBlocks = 32;
constexpr std::uint64_t kBytesPerBlock = 16 << 10;  // of what goes from one rank to another

// The same on every rank: as many as the largest part keeps busy. Of an all_reduce the second step
// moves.
int blocks_for(const Collective& c, int ranks, bool packets, std::size_t step) {
  if (reduces(c.kind) && step == 0) {
    return size_bytes(c, ranks) < kManyBytes ? kReducingBlocks : 2 * kReducingBlocks;
  }
  if (packets) return kPacketBlocks;
  const std::vector<Move> all = reduces(c.kind) ? part_to_all(c, ranks) : moves(c, ranks);
  std::uint64_t largest = 0;
  for (const Move& move : all) largest = std::max(largest, move.bytes);
  return static_cast<int>(
      std::clamp<std::uint64_t>(largest / kBytesPerBlock, kLeastMovingBlocks, kMostMovingBlocks));
}

std::uint64_t wire_bytes_of(const Items& items, int rank, const PeerMemory& recv) {
  std::uint64_t bytes = 0;
  for (const KernelItem& item : items) {
    for (const Span& target : item.destinations) {
      const Span& own = recv.at(rank);
      const bool here = target.data >= own.data && target.data < own.data + own.bytes;
      if (!here) bytes += target.bytes;
    }
  }
  return bytes;
}

}  // namespace

KernelPlan::KernelPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
                       Watchdog& watchdog, const KernelLaunch& launch)
    : send_(rank, buffers.send, "the other ranks' send buffers"),
      recv_(rank, buffers.recv, "the other ranks' receive buffers"),
      packet_bytes_(launch.prepare ? 0 : packet_part(collective, send_, recv_)),
      steps_(kernel_steps(collective, rank.index, send_, recv_)),
      blocks_(blocks_of_steps(collective, rank.size, launch)),
      semaphores_(rank, launch.prepare
                            ? 0
                            : std::accumulate(blocks_.begin(), blocks_.end(), 0) * rank.size),
      watched_(watchdog, semaphores_) {
  if (packet_bytes_ > 0) packet_buffers_.emplace(rank, packet_buffer_bytes(packet_bytes_));
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    kernels_.push_back(prepare(rank, collective, launch, step));
    add_wire_bytes(wire_bytes_of(steps_[step], rank.index, recv_));
  }
  // What a rank reads of others leaves them: of a reduction each rank's part goes to every other.
  if (reduces(collective.kind) && !steps_.front().empty()) {
    add_wire_bytes(buffers.send.bytes - item_bytes(steps_.front().front()));
  }
}

std::vector<int> KernelPlan::blocks_of_steps(const Collective& collective, int ranks,
                                             const KernelLaunch& launch) const {
  std::vector<int> blocks;
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    blocks.push_back(launch.blocks > 0 ? launch.blocks
                                       : blocks_for(collective, ranks, packet_bytes_ > 0, step));
  }
  return blocks;
}

// The first step's opening barrier holds for all. A broadcast passes on what other ranks have dealt
// out, so that each of its steps closes with a barrier; what a rank has reduced is its own.
PeerKernel KernelPlan::peer_kernel(const Collective& collective, std::size_t step) const {
  PeerKernel kernel;
  kernel.items = steps_[step];
  kernel.dtype = collective.dtype;
  kernel.op = collective.op;
  kernel.blocks = blocks_[step];
  const bool last = step + 1 == steps_.size();
  kernel.opens = step == 0;
  kernel.closes = last || !reduces(collective.kind);
  return kernel;
}

void KernelPlan::set_semaphores(PeerKernel& kernel, const Rank& rank, std::size_t step) const {
  const auto end = blocks_.begin() + static_cast<std::ptrdiff_t>(step);
  set_peers(kernel, semaphores_, std::accumulate(blocks_.begin(), end, 0) * rank.size, rank.index,
            rank.size);
}

std::unique_ptr<PreparedKernel> KernelPlan::prepare(const Rank& rank, const Collective& collective,
                                                    const KernelLaunch& launch,
                                                    std::size_t step) const {
  PeerKernel kernel = peer_kernel(collective, step);
  if (launch.prepare) return launch.prepare(rank.device, kernel);
  set_semaphores(kernel, rank, step);
  if (!packet_buffers_) return rank.device.prepare(kernel);
  return rank.device.prepare(
      packet_kernel(std::move(kernel), collective, rank.index, send_, recv_, *packet_buffers_));
}

void KernelPlan::enqueue(Stream& stream) {
  for (const auto& kernel : kernels_) stream.launch(*kernel);
}

std::string KernelPlan::algorithm() const {
  if (blocks_.size() == 1) return fmt::format("one kernel of {} blocks", blocks_.front());
  return fmt::format("kernels of {} blocks", fmt::join(blocks_, " and "));
}

}  // namespace duet
