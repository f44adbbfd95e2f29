#include "collectives/peer/kernel_items.h"

#include <algorithm>
#include <utility>

#include "collectives/peer/partition.h"

namespace duet {
namespace {

// From this size on a second kernel costs less than the root's sending all of it to everyone: on
// 4 x H200 each costs 6 us, and 1 MiB takes 3 us on the wire.
constexpr std::uint64_t kDealtBytes = 2 << 20;

// From this size on an all_reduce is two kernels: few blocks pull and reduce, and more spread. On
// 4 x H200 64 MiB take 324 us so and 338 us in one, 16 MiB 96 to 98 us both ways, 4 MiB 39 and 35.
constexpr std::uint64_t kSpreadBytes = 32 << 20;

// Parts that go to several ranks are read once.
Items pushes(const Collective& collective, int rank, const PeerMemory& send,
             const PeerMemory& recv) {
  Items items;
  std::uint64_t last_offset = 0;
  for (const Move& move : moves_from(collective, rank, recv.size())) {
    const Span source = send.at(rank).slice(move.from_offset, move.bytes);
    const Span target = recv.at(move.to).slice(move.to_offset, move.bytes);
    if (move.to == rank && source.data == target.data) continue;
    const bool again =
        !items.empty() && last_offset == move.from_offset && item_bytes(items.back()) == move.bytes;
    if (!again) items.push_back({{source}, {}});
    items.back().destinations.push_back(target);
    last_offset = move.from_offset;
  }
  return items;
}

// What rank `to` is dealt, in bytes of the buffer.
ElementRange dealt_to(int to, const Collective& c, int ranks) {
  const int place = (to - c.root + ranks) % ranks - 1;
  const ElementRange part = part_of(c.count, place, ranks - 1);
  const std::uint64_t size = size_of(c.dtype);
  return {part.begin * size, part.count * size};
}

Items deals(const Collective& c, int rank, const PeerMemory& send, const PeerMemory& recv) {
  if (rank != c.root) return {};
  Items items;
  const Span &all = send.at(rank), &own = recv.at(rank);
  for (int step = 1; step < recv.size(); ++step) {
    const int to = (rank + step) % recv.size();
    const ElementRange part = dealt_to(to, c, recv.size());
    items.push_back(
        {{all.slice(part.begin, part.count)}, {recv.at(to).slice(part.begin, part.count)}});
  }
  if (own.data != all.data) items.push_back({{all}, {own}});
  return items;
}

Items forwards(const Collective& c, int rank, const PeerMemory& recv) {
  if (rank == c.root) return {};
  const ElementRange part = dealt_to(rank, c, recv.size());
  KernelItem item{{recv.at(rank).slice(part.begin, part.count)}, {}};
  for (int step = 1; step < recv.size(); ++step) {
    const int to = (rank + step) % recv.size();
    if (to != c.root) item.destinations.push_back(recv.at(to).slice(part.begin, part.count));
  }
  return {item};
}

// To the rank itself or, of an all_reduce, to all at once.
Items reductions(const Collective& c, int rank, const PeerMemory& send, const PeerMemory& recv,
                 bool to_all) {
  const ByteRange own = reduced_part(c, rank, send.size());
  if (own.bytes == 0) return {};
  const std::uint64_t target = c.kind == CollectiveKind::reduce_scatter ? 0 : own.begin;
  KernelItem item;
  for (int step = 0; step < send.size(); ++step) {
    // From the next one on: all read from different ranks at first.
    const int peer = (rank + step) % send.size();
    item.sources.push_back(send.at(peer).slice(own.begin, own.bytes));
    if (step == 0 || to_all) item.destinations.push_back(recv.at(peer).slice(target, own.bytes));
  }
  return {item};
}

Items spreads(const Collective& c, int rank, const PeerMemory& recv) {
  const ByteRange own = reduced_part(c, rank, recv.size());
  if (own.bytes == 0) return {};
  KernelItem item{{recv.at(rank).slice(own.begin, own.bytes)}, {}};
  for (int step = 1; step < recv.size(); ++step) {
    const int to = (rank + step) % recv.size();
    item.destinations.push_back(recv.at(to).slice(own.begin, own.bytes));
  }
  if (item.destinations.empty()) return {};
  return {item};
}

// Of all parts of a rank together. On 4 x H200 packets save 0.7 to 2 us up to 256 KiB and 0.2 to
// 1 us at 512 KiB; at 1 MiB the packets' numbers, half of what is sent, take as long on the wire as
// the barriers did.
constexpr std::uint64_t kMostBytes = 512 << 10;

bool is_aligned(const PeerMemory& memory) {
  for (int rank = 0; rank < memory.size(); ++rank) {
    if (reinterpret_cast<std::uintptr_t>(memory.at(rank).data) % kPacketDataBytes != 0)
      return false;
  }
  return true;
}

// From every rank to every rank, itself too; empty where the collective has something else.
std::vector<Move> even_moves(const Collective& c, int ranks) {
  if (c.kind != CollectiveKind::reduce_scatter) {
    if (reduces(c.kind)) return {};
    std::vector<Move> all = moves(c, ranks);
    const bool even = all.size() == static_cast<std::size_t>(ranks) * ranks &&
                      std::all_of(all.begin(), all.end(), [&](const Move& move) {
                        return move.bytes == all.front().bytes;
                      });
    return even ? all : std::vector<Move>{};
  }
  std::vector<Move> all;
  const std::uint64_t bytes = c.count * size_of(c.dtype);
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      all.push_back({from, to, static_cast<std::uint64_t>(to) * bytes, 0, bytes});
    }
  }
  return all;
}

}  // namespace

std::vector<Items> kernel_steps(const Collective& c, int rank, const PeerMemory& send,
                                const PeerMemory& recv) {
  const std::uint64_t bytes = size_bytes(c, recv.size());
  if (c.kind == CollectiveKind::all_reduce && bytes >= kSpreadBytes) {
    return {reductions(c, rank, send, recv, false), spreads(c, rank, recv)};
  }
  if (reduces(c.kind)) {
    return {reductions(c, rank, send, recv, c.kind == CollectiveKind::all_reduce)};
  }
  const bool dealt = c.kind == CollectiveKind::broadcast && recv.size() > 2 && bytes >= kDealtBytes;
  if (dealt) return {deals(c, rank, send, recv), forwards(c, rank, recv)};
  return {pushes(c, rank, send, recv)};
}

std::uint64_t packet_part(const Collective& collective, const PeerMemory& send,
                          const PeerMemory& recv) {
  const int ranks = send.size();
  if (ranks < 2 || !is_aligned(send) || !is_aligned(recv)) return 0;
  if (static_cast<std::size_t>(ranks) > kMostPacketPeers + 1) return 0;
  const std::vector<Move> all = even_moves(collective, ranks);
  if (all.empty()) return 0;
  const std::uint64_t bytes = all.front().bytes;
  const bool fits = bytes % kPacketDataBytes == 0 && bytes * ranks <= kMostBytes;
  return fits ? bytes : 0;
}

PacketKernel packet_kernel(PeerKernel barrier, const Collective& collective, int rank,
                           const PeerMemory& send, const PeerMemory& recv,
                           const PacketBuffers& packet_buffers) {
  const int ranks = send.size();
  const std::vector<Move> all = even_moves(collective, ranks);
  const auto move = [&](int from, int to) {
    return all[static_cast<std::size_t>(from * ranks + to)];
  };
  const auto source = [&](int to) {
    return send.at(rank).slice(move(rank, to).from_offset, move(rank, to).bytes);
  };
  const auto destination = [&](int from) {
    return recv.at(rank).slice(move(from, rank).to_offset, move(from, rank).bytes);
  };
  PacketKernel kernel{
      std::move(barrier), source(rank), destination(rank), {}, reduces(collective.kind)};
  for (int next = 1; next < ranks; ++next) {
    const int peer = (rank + next) % ranks;
    kernel.peers.push_back({source(peer), packet_buffers.at(peer, rank),
                            packet_buffers.at(rank, peer), destination(peer)});
  }
  return kernel;
}

}  // namespace duet
