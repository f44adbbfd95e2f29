#include "collectives/nvshmem/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/nvshmem/packets.h"
#include "core/units.h"

namespace duet::nvshmem {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

std::uint64_t* words_in(const Span& span) { return reinterpret_cast<std::uint64_t*>(span.data); }

PacketCall packet_call(const AllToAllCall& all, bool grid, std::uint64_t packet, int most_blocks) {
  PacketCall call;
  call.all = all;
  call.packet = std::min<std::size_t>(packet, all.chunk);
  call.signals = grid;
  const std::uint64_t items = packets_of(call) * static_cast<std::uint64_t>(all.pes);
  const auto most = static_cast<std::uint64_t>(most_blocks);
  call.blocks = grid ? static_cast<int>(std::min(items, most)) : 1;
  return call;
}

}  // namespace

AllToAllCall call_of(const Rank& rank, const Collective& collective,
                     const CollectiveBuffers& buffers) {
  AllToAllCall call;
  call.send = buffers.send.data;
  call.recv = buffers.recv.data;
  call.chunk = collective.count * size_of(collective.dtype);
  call.pe = rank.index;
  call.pes = rank.size;
  return call;
}

AllToAllPlan::AllToAllPlan(const Calls& calls, const Rank& rank, const Collective& collective,
                           const CollectiveBuffers& buffers)
    : calls_(calls), device_(rank.device), call_(call_of(rank, collective, buffers)) {}

void AllToAllPlan::enqueue(Stream& stream) {
  enqueue_call(calls_, device_, stream, "sync_all", [&calls = calls_, pe = call_.pe](void* native) {
    return calls.sync_all(pe, native);
  });
  enqueue_call(
      calls_, device_, stream, "all_to_all",
      [&calls = calls_, call = call_](void* native) { return calls.all_to_all(call, native); });
}

std::string AllToAllPlan::algorithm() const {
  return "NVSHMEM, its call on a stream behind a sync of all, NVLS off";
}

PacketPlan::PacketPlan(const Calls& calls, Rank& rank, const Collective& collective,
                       const CollectiveBuffers& buffers, bool grid, std::uint64_t packet,
                       Watchdog& watchdog)
    : calls_(calls),
      device_(rank.device),
      words_(calls, rank, 2 * static_cast<std::size_t>(rank.size) * kWord, watchdog),
      own_(rank.device.allocate(2 * kWord)),
      call_(packet_call(call_of(rank, collective, buffers), grid, packet, calls.most_blocks)),
      watched_(watchdog, *this) {
  call_.ready = words_in(words_.span());
  call_.arrived = call_.ready + rank.size;
  call_.calls = words_in(own_.span());
  call_.ended = call_.calls + 1;
  const std::vector<std::uint64_t> zeros(2 * static_cast<std::size_t>(rank.size));
  device_.write(words_.span(), zeros.data());
  device_.write(own_.span(), zeros.data());
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
