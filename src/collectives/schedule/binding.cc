#include "collectives/schedule/binding.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/error.h"

namespace duet {
namespace {

// The smallest place with both, which are in one buffer.
Place around(const Place& one, const Place& other) {
  const std::uint64_t begin = std::min(one.offset, other.offset);
  const std::uint64_t end = std::max(one.offset + one.bytes, other.offset + other.bytes);
  return {one.buffer, one.rank, begin, end - begin};
}

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
      node_(schedule.node),
      groups_(schedule.semaphores),
      prepare_peer_kernel_(session.prepare),
      buffers_(buffers) {
  Rank& mapping = session.node != nullptr ? session.node->in_node : rank;
  all_send_ = mapped(mapping, buffers.send, schedule.reads_send || schedule.pushes_to_send,
                     "the other ranks' send buffers");
  all_recv_ =
      mapped(mapping, buffers.recv, schedule.pushes_to_recv, "the other ranks' receive buffers");
  memory_ = session.pool != nullptr ? session.pool->memory(mapping, schedule, session.watchdog)
                                    : std::make_shared<ScheduleMemory>(
                                          mapping, schedule, session.watchdog, session.semaphores);
  if (session.node == nullptr) return;
  rank.team.all_or_none(rank, "all ranks to allocate memory of their own", [&] {
    if (schedule.scratch_bytes > 0) scratch_ = device_.allocate(schedule.scratch_bytes);
  });
  make_wires(schedule, session);
}

void Binding::make_wires(const RankSchedule& schedule, const ScheduleSession& session) {
  for (const WireMessages& each : schedule.wires) {
    WireTraffic traffic = traffic_of(each, session.node->map);
    if (each.to_incoming) traffic.region_bytes = schedule.incoming_bytes;
    wires_.push_back({each.go, each.gone, each.come, each.to_incoming,
                      session.make_wire(*session.node, traffic)});
  }
}

WireTraffic Binding::traffic_of(const WireMessages& wire, const NodeMap& map) const {
  std::map<BufferRole, Place> sources;
  WireTraffic traffic;
  if (!wire.to_incoming)
    traffic.region = span_of({BufferRole::recv, rank_, 0, buffers_.recv.bytes});
  for (const StepMessage& message : wire.messages) {
    WireMessage& sent = traffic.messages.emplace_back();
    sent.node = map.node(message.to);
    sent.staged = message.staged;
    sent.tells_gone = message.tells_gone;
    for (const StepMessagePiece& piece : message.pieces) {
      sent.pieces.push_back({span_of(piece.source), piece.target.offset});
      const auto [found, is_new] = sources.emplace(piece.source.buffer, piece.source);
      if (!is_new) found->second = around(found->second, piece.source);
    }
    traffic.arrivals.push_back(message.arrivals);
  }
  for (const auto& [buffer, place] : sources) traffic.sources.push_back(span_of(place));
  return traffic;
}

Span Binding::span_of(const Place& place) const {
  return buffer_of(place).slice(place.offset, place.bytes);
}

Span Binding::buffer_of(const Place& place) const {
  const int number = number_in(node_, place.rank);
  switch (place.buffer) {
    case BufferRole::send:
      return all_send_ ? all_send_->at(number) : buffers_.send;
    case BufferRole::recv:
      return all_recv_ ? all_recv_->at(number) : buffers_.recv;
    case BufferRole::slots:
      return memory_->slots(place.rank);
    case BufferRole::scratch:
      return scratch_.span();
    case BufferRole::incoming:
      break;
  }
  return incoming();
}

Span Binding::incoming() const {
  for (const BoundWire& each : wires_) {
    if (each.to_incoming) return each.wire->region();
  }
  return {};
}

void Binding::poison() const {
  memory_->poison();
  for (const Span& own : {scratch_.span(), incoming()}) {
    if (own.bytes > 0) poison_slots(device_, own);
  }
}

Semaphore Binding::at(const SemaphoreAt& semaphore) const {
  if (!groups_[index_of(semaphore.group)].of_wire) return memory_->at(semaphore);
  const auto message = index_of(semaphore.index);
  for (const BoundWire& each : wires_) {
    if (semaphore.group == each.go) return each.wire->go(message);
    if (semaphore.group == each.gone) return each.wire->gone(message);
    if (semaphore.group == each.come) return each.wire->come(message);
  }
  throw BadArgument("a schedule's semaphore: expected one of its wires");
}

std::vector<Semaphore> Binding::semaphores_of(const std::vector<SemaphoreAt>& list) const {
  std::vector<Semaphore> semaphores;
  for (const SemaphoreAt& each : list) semaphores.push_back(at(each));
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
    one.divisor = item.divisor;
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
  PacketKernel packets{std::move(barrier),  rank_, span_of(own.source),
                       span_of(own.target), {},    kernel.packets.back().target == own.target};
  for (int step = 1; step < ranks_; ++step) {
    const int other = (rank_ + step) % ranks_;
    const PacketPart& part = kernel.packets[index_of(step)];
    packets.peers.push_back({other, span_of(part.source), memory_->packets(other, rank_),
                             memory_->packets(rank_, other), span_of(part.target)});
  }
  if (normalises(kernel)) packets.norm = row_norm(kernel.norm, buffers_);
  return packets;
}

bool Binding::normalises(const StepKernel& kernel) const {
  return kernel.norm.columns > 0 && !kernel.packets.empty() && !prepare_peer_kernel_ &&
         device_.normalises_packets();
}

}  // namespace duet
