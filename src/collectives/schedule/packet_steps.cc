#include "collectives/schedule/packet_steps.h"

#include <utility>

namespace duet {
namespace {

constexpr int kPacketsArrived = 0;  // the only group

}  // namespace

bool sends_packets(const RankSchedule& schedule) {
  return !schedule.steps.empty() && !schedule.steps.front().kernel.packets.empty();
}

RankSchedule with_packets_as_items(const RankSchedule& schedule, int half) {
  const int rank = schedule.rank, ranks = schedule.ranks;
  const std::vector<PacketPart>& parts = schedule.steps.front().kernel.packets;
  const std::uint64_t bytes = parts.front().source.bytes;
  const auto in_slot = [&](int owner, int from) {
    const auto slot = static_cast<std::uint64_t>(half * ranks + from);
    return Place{BufferRole::slots, owner, slot * bytes, bytes};
  };
  std::vector<StepItem> items;
  StepItem own{{}, {parts.front().source}, {parts.front().target}, {}};
  for (int distance = 1; distance < ranks; ++distance) {
    const int peer = (rank + distance) % ranks;
    const PacketPart& part = parts[index_of(distance)];
    const SemaphoreAt sent{kPacketsArrived, peer, rank, half};
    const SemaphoreAt arrived{kPacketsArrived, rank, peer, half};
    items.push_back({{}, {part.source}, {in_slot(peer, rank)}, {sent}});
    if (part.target == own.targets.front()) {
      own.waits.push_back(arrived);
      own.sources.push_back(in_slot(rank, peer));
    } else {
      items.push_back({{arrived}, {in_slot(rank, peer)}, {part.target}, {}});
    }
  }
  const bool stays = own.sources.front() == own.targets.front();
  if (!stays) items.push_back(std::move(own));
  RankSchedule result = schedule;
  SemaphoreGroup group{"packets", 2};
  group.counts = true;
  result.semaphores = {group};
  result.slot_bytes = 2 * static_cast<std::uint64_t>(ranks) * bytes;
  result.read_by_others = 0;
  StepKernel& kernel = result.steps.front().kernel;
  kernel.items = std::move(items);
  kernel.packets.clear();
  kernel.barriers = KernelBarriers{kPacketsArrived, false, false};
  return result;
}

}  // namespace duet
