// A collective by one or two kernels over mapped peers: the fastest way for small sizes. A
// collective that only moves pushes its parts. One that reduces reads the rank's part of the result
// from all ranks, and an all_reduce pushes it to all. A large broadcast has two kernels: the root
// sends a different part to each of the others, which pass theirs on among themselves, so that the
// root sends everything only once.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "collectives/partition.h"
#include "collectives/schedule/algorithms/algorithm.h"
#include "collectives/schedule/algorithms/kernel_items.h"

namespace duet {
namespace {

// From this size on twice as many reduce: 64 MiB on 4 x H200 in 169 instead of 173 us.
constexpr std::uint64_t kManyBytes = 16 << 20;
constexpr int kLeastMovingBlocks = 16;
constexpr int kMostMovingBlocks = 64;
// Of kernels that move parts which GPUs send as packets, by blocks of their own.
constexpr int kSmallMovingBlocks = 32;
constexpr std::uint64_t kBytesPerBlock = 16 << 10;  // of what goes from one rank to another

// The same on every rank: as many as the largest part keeps busy. Of an all_reduce the second step
// moves.
int blocks_for(const Collective& c, int ranks, bool packets, std::size_t step) {
  if (reduces(c.kind) && step == 0) {
    return size_bytes(c, ranks) < kManyBytes ? kReducingBlocks : 2 * kReducingBlocks;
  }
  if (packets) return kSmallMovingBlocks;
  const std::vector<Move> all = reduces(c.kind) ? part_to_all(c, ranks) : moves(c, ranks);
  std::uint64_t largest = 0;
  for (const Move& move : all) largest = std::max(largest, move.bytes);
  return static_cast<int>(
      std::clamp<std::uint64_t>(largest / kBytesPerBlock, kLeastMovingBlocks, kMostMovingBlocks));
}

// Of the rank's send buffer, what the other ranks' kernels read.
std::uint64_t read_from(const Collective& c, int rank, int ranks) {
  std::uint64_t bytes = 0;
  for (int other = 0; other < ranks; ++other) {
    if (other != rank) bytes += reduced_part(c, other, ranks).bytes;
  }
  return bytes;
}

Step kernel_step(const Collective& c, std::vector<StepItem> items, int blocks,
                 KernelBarriers barriers) {
  Step step;
  step.kernel.items = std::move(items);
  step.kernel.dtype = c.dtype;
  step.kernel.op = c.op;
  step.kernel.blocks = blocks;
  step.kernel.barriers = barriers;
  return step;
}

RankSchedule empty_schedule(const Collective& c, int rank, int ranks) {
  RankSchedule schedule;
  schedule.rank = rank;
  schedule.ranks = ranks;
  schedule.reads_send = reduces(c.kind);
  if (reduces(c.kind)) schedule.read_by_others = read_from(c, rank, ranks);
  return schedule;
}

SemaphoreGroup barrier_words(std::string name, int blocks) {
  SemaphoreGroup group{std::move(name)};
  group.blocks = blocks;
  group.counts = true;
  return group;
}

std::string in_words(const RankSchedule& schedule) {
  const StepKernel& kernel = schedule.steps.front().kernel;
  const int first = kernel.blocks;
  if (!kernel.packets.empty()) {
    return fmt::format("packets on GPUs, elsewhere one kernel of {} blocks", first);
  }
  if (schedule.steps.size() == 1) return fmt::format("one kernel of {} blocks", first);
  return fmt::format("kernels of {} and {} blocks", first, schedule.steps.back().kernel.blocks);
}

// The first step's opening barrier holds for all. A broadcast passes on what other ranks have dealt
// out, so that each of its steps closes with a barrier; what a rank has reduced is its own.
RankSchedule kernel_schedule(const AlgorithmInput& input) {
  const Collective& c = input.collective;
  const int rank = input.rank, ranks = input.ranks;
  const bool packets = input.blocks == 0 && packet_bytes(c, ranks) > 0;
  RankSchedule schedule = empty_schedule(c, rank, ranks);
  schedule.pushes_to_recv = true;
  auto steps = kernel_items(c, rank, ranks, input.in_place);
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const int blocks = input.blocks > 0 ? input.blocks : blocks_for(c, ranks, packets, step);
    const bool last = step + 1 == steps.size();
    const KernelBarriers barriers{static_cast<int>(step), step == 0, last || !reduces(c.kind)};
    schedule.semaphores.push_back(barrier_words(step == 0 ? "barrier" : "second barrier", blocks));
    schedule.steps.push_back(kernel_step(c, std::move(steps[step]), blocks, barriers));
  }
  if (packets) {
    schedule.steps.front().kernel.packets = packet_parts(c, rank, ranks, input.in_place);
    schedule.steps.front().kernel.norm = c.norm;
  }
  schedule.algorithm = in_words(schedule);
  return schedule;
}

// That the closing barrier is only for speed: a part of the send buffers is read by its own rank
// alone, and an arrival in the second half says that its sender has read.
RankSchedule pull_schedule(const AlgorithmInput& input) {
  const Collective& c = input.collective;
  const int rank = input.rank, ranks = input.ranks;
  RankSchedule schedule = empty_schedule(c, rank, ranks);
  schedule.semaphores = {barrier_words("barrier", kReducingBlocks)};
  schedule.steps = {
      kernel_step(c, reduced_items(c, rank, ranks, false), kReducingBlocks, {0, true, true, true})};
  schedule.algorithm = fmt::format("pulled and reduced by {} blocks", kReducingBlocks);
  return schedule;
}

}  // namespace

Algorithm peer_kernels() {
  return {"peer-kernels", [](const AlgorithmInput& in) { return !in.any_swaps; }, kernel_schedule};
}

// The first half of an all_reduce: a kernel of few blocks reduces each rank's part into its receive
// buffer. When it ends, all ranks have read what they needed.
Algorithm pulled_reduction() {
  return {"pulled-reduction",
          is_of<CollectiveKind::all_reduce>,
          pull_schedule,
          Half::first,
          false,
          std::numeric_limits<int>::max()};
}

}  // namespace duet
