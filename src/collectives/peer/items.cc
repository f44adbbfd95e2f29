#include "collectives/peer/items.h"

#include <algorithm>

#include "collectives/peer/parts.h"

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
Part dealt_to(int to, const Collective& c, int ranks) {
  const int place = (to - c.root + ranks) % ranks - 1;
  const Part part = part_of(c.count, place, ranks - 1);
  const std::uint64_t size = size_of(c.dtype);
  return {part.begin * size, part.count * size};
}

Items deals(const Collective& c, int rank, const PeerMemory& send, const PeerMemory& recv) {
  if (rank != c.root) return {};
  Items items;
  const Span &all = send.at(rank), &own = recv.at(rank);
  for (int step = 1; step < recv.size(); ++step) {
    const int to = (rank + step) % recv.size();
    const Part part = dealt_to(to, c, recv.size());
    items.push_back(
        {{all.slice(part.begin, part.count)}, {recv.at(to).slice(part.begin, part.count)}});
  }
  if (own.data != all.data) items.push_back({{all}, {own}});
  return items;
}

Items forwards(const Collective& c, int rank, const PeerMemory& recv) {
  if (rank == c.root) return {};
  const Part part = dealt_to(rank, c, recv.size());
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
  const PartBytes own = part_bytes(c, rank, send.size());
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
  const PartBytes own = part_bytes(c, rank, recv.size());
  if (own.bytes == 0) return {};
  KernelItem item{{recv.at(rank).slice(own.begin, own.bytes)}, {}};
  for (int step = 1; step < recv.size(); ++step) {
    const int to = (rank + step) % recv.size();
    item.destinations.push_back(recv.at(to).slice(own.begin, own.bytes));
  }
  if (item.destinations.empty()) return {};
  return {item};
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

}  // namespace duet
