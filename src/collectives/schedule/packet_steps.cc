#include "collectives/schedule/packet_steps.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "collectives/schedule/contents.h"

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
  std::vector<StepItem> pushes, takes;
  StepItem own{{}, {parts.front().source}, {parts.front().target}, {}};
  for (int distance = 1; distance < ranks; ++distance) {
    const int peer = (rank + distance) % ranks;
    const PacketPart& part = parts[index_of(distance)];
    const SemaphoreAt sent{kPacketsArrived, peer, rank, half};
    const SemaphoreAt arrived{kPacketsArrived, rank, peer, half};
    pushes.push_back({{}, {part.source}, {in_slot(peer, rank)}, {sent}});
    if (part.target == own.targets.front()) {
      own.waits.push_back(arrived);
      own.sources.push_back(in_slot(rank, peer));
    } else {
      takes.push_back({{arrived}, {in_slot(rank, peer)}, {part.target}, {}});
    }
  }
  const bool stays = own.sources.front() == own.targets.front();
  if (!stays) takes.push_back(std::move(own));
  RankSchedule result = schedule;
  SemaphoreGroup group{"packets", 2};
  group.counts = true;
  result.semaphores = {group};
  result.slot_bytes = 2 * static_cast<std::uint64_t>(ranks) * bytes;
  result.read_by_others = 0;
  StepKernel& kernel = result.steps.front().kernel;
  kernel.packets.clear();
  kernel.barriers = KernelBarriers{kPacketsArrived, false, false};
  result.steps = {result.steps.front(), result.steps.front()};
  result.steps.front().kernel.items = std::move(pushes);
  result.steps.back().kernel.items = std::move(takes);
  return result;
}

std::string fault_of_packets(const CollectiveSchedule& schedule) {
  for (const RankSchedule& each : schedule.ranks) {
    if (!sends_packets(each)) continue;
    const std::vector<PacketPart>& parts = each.steps.front().kernel.packets;
    for (const PacketPart& taken : parts) {
      const Place to = in_outer_buffer(schedule, taken.target);
      for (const PacketPart& pushed : parts) {
        const Place from = in_outer_buffer(schedule, pushed.source);
        const bool overlap = to.buffer == from.buffer && to.offset < from.offset + from.bytes &&
                             from.offset < to.offset + to.bytes;
        if (!overlap || to.offset == from.offset) continue;
        return fmt::format("rank {} receives packets at {}, which overlaps {}, sent as packets",
                           each.rank, text_of(taken.target), text_of(pushed.source));
      }
    }
  }
  return "";
}

}  // namespace duet
