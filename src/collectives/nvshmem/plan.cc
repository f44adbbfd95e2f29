#include "collectives/nvshmem/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/nvshmem/packets.h"
#include "core/units.h"

namespace duet::nvshmem {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

std::uint64_t* words_in(const Span& span) { return reinterpret_cast<std::uint64_t*>(span.data); }

AllToAllCall library_call(const Rank& rank, const Collective& collective,
                          const CollectiveBuffers& buffers) {
  AllToAllCall call;
  call.send = buffers.send.data;
  call.recv = buffers.recv.data;
  call.chunk = collective.count * size_of(collective.dtype);
  call.pe = rank.index;
  call.pes = rank.size;
  return call;
}

std::uint64_t largest_part(const Collective& collective, int ranks) {
  std::uint64_t largest = 0;
  for (const Move& move : moves(collective, ranks)) largest = std::max(largest, move.bytes);
  return largest;
}

PacketCall packet_call(const Rank& rank, const Collective& collective,
                       const CollectiveBuffers& buffers, bool grid, std::uint64_t packet,
                       int most_blocks) {
  PacketCall call;
  call.all = {buffers.send.data, buffers.recv.data, nullptr, rank.index, rank.size};
  call.largest = largest_part(collective, rank.size);
  call.packet = std::max<std::size_t>(1, std::min<std::size_t>(packet, call.largest));
  call.signals = grid && collective.kind != CollectiveKind::all_to_all_v;
  const std::uint64_t items = packets_of(call) * static_cast<std::uint64_t>(rank.size);
  const auto most = static_cast<std::uint64_t>(most_blocks);
  call.blocks = grid ? static_cast<int>(std::clamp<std::uint64_t>(items, 1, most)) : 1;
  return call;
}

}  // namespace

std::vector<Part> parts_of(const Rank& rank, const Collective& collective) {
  std::vector<Part> parts(static_cast<std::size_t>(rank.size));
  for (const Move& move : moves_from(collective, rank.index, rank.size))
    parts[static_cast<std::size_t>(move.to)] = {move.from_offset, move.to_offset, move.bytes};
  return parts;
}

StreamPlan::StreamPlan(const Calls& calls, const Rank& rank, const Collective& collective,
                       const CollectiveBuffers& buffers)
    : calls_(calls), device_(rank.device), call_(library_call(rank, collective, buffers)) {
  if (collective.kind != CollectiveKind::all_to_all) parts_ = parts_of(rank, collective);
}

void StreamPlan::enqueue(Stream& stream) {
  enqueue_call(calls_, device_, stream, "sync_all", [&calls = calls_, pe = call_.pe](void* native) {
    return calls.sync_all(pe, native);
  });
  if (parts_.empty()) {
    return enqueue_call(
        calls_, device_, stream, "all_to_all",
        [&calls = calls_, call = call_](void* native) { return calls.all_to_all(call, native); });
  }
  const PutCall puts{call_.send, call_.recv, parts_.data(), call_.pe, call_.pes};
  enqueue_call(calls_, device_, stream, "put_parts",
               [&calls = calls_, puts](void* native) { return calls.put_parts(puts, native); });
}

std::string StreamPlan::algorithm() const {
  return parts_.empty() ? "NVSHMEM, its call on a stream behind a sync of all, NVLS off"
                        : "NVSHMEM, puts on a stream between two syncs of all, NVLS off";
}

PacketPlan::PacketPlan(const Calls& calls, Rank& rank, const Collective& collective,
                       const CollectiveBuffers& buffers, bool grid, std::uint64_t packet,
                       Watchdog& watchdog)
    : calls_(calls),
      device_(rank.device),
      words_(calls, rank, 2 * static_cast<std::size_t>(rank.size) * kWord, watchdog),
      own_(rank.device.allocate(2 * kWord)),
      parts_(rank.device.allocate(static_cast<std::size_t>(rank.size) * sizeof(Part))),
      call_(packet_call(rank, collective, buffers, grid, packet, calls.most_blocks)),
      watched_(watchdog, *this) {
  call_.ready = words_in(words_.span());
  call_.arrived = call_.ready + rank.size;
  call_.calls = words_in(own_.span());
  call_.ended = call_.calls + 1;
  call_.all.parts = reinterpret_cast<const Part*>(parts_.span().data);
  const std::vector<std::uint64_t> zeros(2 * static_cast<std::size_t>(rank.size));
  device_.write(words_.span(), zeros.data());
  device_.write(own_.span(), zeros.data());
  device_.write(parts_.span(), parts_of(rank, collective).data());
  rank.team.barrier("the other ranks to have set their words");
}

void PacketPlan::release_waits() noexcept {
  release_words(device_, call_.ready, 2 * static_cast<std::size_t>(call_.all.pes));
}

void PacketPlan::enqueue(Stream& stream) {
  enqueue_call(
      calls_, device_, stream, "put_packets",
      [&calls = calls_, call = call_](void* native) { return calls.put_packets(call, native); });
}

std::string PacketPlan::algorithm() const {
  return fmt::format("NVSHMEM, puts of {} by {}, a signal behind {}, NVLS off",
                     format_bytes(call_.packet),
                     call_.blocks == 1 ? "1 block" : fmt::format("{} blocks", call_.blocks),
                     call_.signals ? "each" : "all");
}

}  // namespace duet::nvshmem
