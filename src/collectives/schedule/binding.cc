#include "collectives/schedule/binding.h"

#include <utility>

namespace duet {
namespace {

std::optional<PeerMemory> mapped(Rank& rank, const Span& own, bool is_used, const char* what) {
  if (!is_used) return std::nullopt;
  return std::make_optional<PeerMemory>(rank, own, what);
}

}  // namespace

Binding::Binding(Rank& rank, const RankSchedule& schedule, const CollectiveBuffers& buffers,
                 const ScheduleSession& session)
    : device_(rank.device),
      rank_(schedule.rank),
      ranks_(schedule.ranks),
      prepare_peer_kernel_(session.prepare),
      send_(buffers.send),
      recv_(buffers.recv),
      all_send_(mapped(rank, send_, schedule.reads_send, "the other ranks' send buffers")),
      all_recv_(mapped(rank, recv_, schedule.pushes_to_recv, "the other ranks' receive buffers")),
      memory_(session.pool != nullptr
                  ? session.pool->memory(rank, schedule, session.watchdog)
                  : std::make_shared<ScheduleMemory>(rank, schedule, session.watchdog)) {}

Span Binding::span_of(const Place& place) const {
  const auto whole = [&]() -> const Span& {
    if (place.buffer == BufferRole::slots) return memory_->slots(place.rank);
    if (place.buffer == BufferRole::send) return all_send_ ? all_send_->at(place.rank) : send_;
    return all_recv_ ? all_recv_->at(place.rank) : recv_;
  };
  return whole().slice(place.offset, place.bytes);
}

std::vector<Semaphore> Binding::semaphores_of(const std::vector<SemaphoreAt>& list) const {
  std::vector<Semaphore> semaphores;
  for (const SemaphoreAt& each : list) semaphores.push_back(memory_->at(each));
  return semaphores;
}

std::unique_ptr<PreparedKernel> Binding::prepare(const StepKernel& kernel) const {
  if (!kernel.barriers) return device_.prepare(local_kernel(kernel));
  PeerKernel peer = peer_kernel(kernel);
  if (prepare_peer_kernel_) return prepare_peer_kernel_(device_, peer);
  for (int step = 1; step < ranks_; ++step) {
    const int other = (rank_ + step) % ranks_;
    peer.arrivals.push_back(memory_->at({kernel.barriers->group, other, rank_, 0}).word);
    peer.awaits.push_back(memory_->at({kernel.barriers->group, rank_, other, 0}).word);
  }
  if (kernel.packets.empty()) return device_.prepare(peer);
  return device_.prepare(packet_kernel(std::move(peer), kernel));
}

LocalKernel Binding::local_kernel(const StepKernel& kernel) const {
  LocalKernel local;
  local.dtype = kernel.dtype;
  local.op = kernel.op;
  local.blocks = kernel.blocks;
  local.adds = kernel.adds;
  local.semaphores_by_block = kernel.by_block;
  for (const StepItem& item : kernel.items) {
    LocalKernelItem& one = local.items.emplace_back();
    for (const Place& source : item.sources) one.sources.push_back(span_of(source));
    for (const Place& target : item.targets) one.destinations.push_back(span_of(target));
    one.waits = semaphores_of(item.waits);
    one.signals = semaphores_of(item.signals);
  }
  return local;
}

PeerKernel Binding::peer_kernel(const StepKernel& kernel) const {
  PeerKernel peer;
  peer.dtype = kernel.dtype;
  peer.op = kernel.op;
  peer.blocks = kernel.blocks;
  peer.opens = kernel.barriers->opens;
  peer.closes = kernel.barriers->closes;
  for (const StepItem& item : kernel.items) {
    KernelItem& one = peer.items.emplace_back();
    for (const Place& source : item.sources) one.sources.push_back(span_of(source));
    for (const Place& target : item.targets) one.destinations.push_back(span_of(target));
  }
  return peer;
}

PacketKernel Binding::packet_kernel(PeerKernel barrier, const StepKernel& kernel) const {
  const PacketPart& own = kernel.packets.front();
  PacketKernel packets{std::move(barrier),
                       span_of(own.source),
                       span_of(own.target),
                       {},
                       kernel.packets.back().target == own.target};
  for (int step = 1; step < ranks_; ++step) {
    const int other = (rank_ + step) % ranks_;
    const PacketPart& part = kernel.packets[index_of(step)];
    packets.peers.push_back({span_of(part.source), memory_->packets(other, rank_),
                             memory_->packets(rank_, other), span_of(part.target)});
  }
  return packets;
}

}  // namespace duet
