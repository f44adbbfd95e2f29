#include "collectives/schedule/algorithms/kernel_items.h"

#include <algorithm>
#include <utility>

#include "collectives/partition.h"
#include "device/collective_kernel.h"

namespace duet {
namespace {

// From this size on a second kernel costs less than the root's sending all of it to everyone: on
// 4 x H200 each costs 6 us, and 1 MiB takes 3 us on the wire.
constexpr std::uint64_t kDealtBytes = 2 << 20;

// From this size on an all_reduce is two kernels: few blocks pull and reduce, and more spread. On
// 4 x H200 64 MiB take 324 us so and 338 us in one, 16 MiB 96 to 98 us both ways, 4 MiB 39 and 35.
constexpr std::uint64_t kSpreadBytes = 32 << 20;

using Items = std::vector<StepItem>;

Place in_send(int rank, std::uint64_t begin, std::uint64_t bytes) {
  return {BufferRole::send, rank, begin, bytes};
}
Place in_recv(int rank, std::uint64_t begin, std::uint64_t bytes) {
  return {BufferRole::recv, rank, begin, bytes};
}

StepItem item_of(Place source, std::vector<Place> targets) {
  StepItem item;
  item.sources = {source};
  item.targets = std::move(targets);
  return item;
}

// Parts that go to several ranks are read once.
Items pushes(const Collective& c, int rank, int ranks, bool in_place) {
  Items items;
  for (const Move& move : moves_from(c, rank, ranks)) {
    if (in_place && stays_in_place(c, move)) continue;
    const Place source = in_send(rank, move.from_offset, move.bytes);
    const Place target = in_recv(move.to, move.to_offset, move.bytes);
    const bool again = !items.empty() && items.back().sources.front() == source;
    if (again) {
      items.back().targets.push_back(target);
    } else {
      items.push_back(item_of(source, {target}));
    }
  }
  return items;
}

// What rank `to` is dealt.
ByteRange dealt_to(int to, const Collective& c, int ranks) {
  const int place = (to - c.root + ranks) % ranks - 1;
  const ElementRange part = part_of(c.count, place, ranks - 1);
  const std::uint64_t size = size_of(c.dtype);
  return {part.begin * size, part.count * size};
}

Items deals(const Collective& c, int rank, int ranks, bool in_place) {
  if (rank != c.root) return {};
  Items items;
  for (int step = 1; step < ranks; ++step) {
    const int to = (rank + step) % ranks;
    const ByteRange part = dealt_to(to, c, ranks);
    items.push_back(
        item_of(in_send(rank, part.begin, part.bytes), {in_recv(to, part.begin, part.bytes)}));
  }
  const std::uint64_t bytes = size_bytes(c, ranks);
  if (!in_place) items.push_back(item_of(in_send(rank, 0, bytes), {in_recv(rank, 0, bytes)}));
  return items;
}

Items forwards(const Collective& c, int rank, int ranks) {
  if (rank == c.root) return {};
  const ByteRange part = dealt_to(rank, c, ranks);
  StepItem item = item_of(in_recv(rank, part.begin, part.bytes), {});
  for (int step = 1; step < ranks; ++step) {
    const int to = (rank + step) % ranks;
    if (to != c.root) item.targets.push_back(in_recv(to, part.begin, part.bytes));
  }
  return {item};
}

Items spreads(const Collective& c, int rank, int ranks) {
  const ByteRange own = reduced_part(c, rank, ranks);
  if (own.bytes == 0 || ranks < 2) return {};
  StepItem item = item_of(in_recv(rank, own.begin, own.bytes), {});
  for (int step = 1; step < ranks; ++step) {
    item.targets.push_back(in_recv((rank + step) % ranks, own.begin, own.bytes));
  }
  return {item};
}

}  // namespace

Items reduced_items(const Collective& c, int rank, int ranks, bool to_all) {
  const ByteRange own = reduced_part(c, rank, ranks);
  if (own.bytes == 0) return {};
  const std::uint64_t target = reduced_target(c, rank, ranks);
  StepItem item;
  for (int step = 0; step < ranks; ++step) {
    // From the next one on: all read from different ranks at first.
    const int peer = (rank + step) % ranks;
    item.sources.push_back(in_send(peer, own.begin, own.bytes));
    if (step == 0 || to_all) item.targets.push_back(in_recv(peer, target, own.bytes));
  }
  return {item};
}

std::vector<Items> kernel_items(const Collective& c, int rank, int ranks, bool in_place) {
  const std::uint64_t bytes = size_bytes(c, ranks);
  if (c.kind == CollectiveKind::all_reduce && bytes >= kSpreadBytes) {
    return {reduced_items(c, rank, ranks, false), spreads(c, rank, ranks)};
  }
  if (reduces(c.kind)) {
    return {reduced_items(c, rank, ranks, c.kind == CollectiveKind::all_reduce)};
  }
  const bool dealt = c.kind == CollectiveKind::broadcast && ranks > 2 && bytes >= kDealtBytes;
  if (dealt) return {deals(c, rank, ranks, in_place), forwards(c, rank, ranks)};
  return {pushes(c, rank, ranks, in_place)};
}

namespace {

// Of all parts of a rank together. On 4 x H200 packets save 0.7 to 2 us up to 256 KiB and 0.2 to
// 1 us at 512 KiB; at 1 MiB the packets' numbers, half of what is sent, take as long on the wire as
// the barriers did.
constexpr std::uint64_t kMostBytes = 512 << 10;

// From every rank to every rank, itself too, in this order; empty where the collective has
// something else.
std::vector<Move> even_moves(const Collective& c, int ranks) {
  const auto pairs = index_of(ranks) * index_of(ranks);
  if (!reduces(c.kind)) {
    std::vector<Move> all = moves(c, ranks);
    const bool even = all.size() == pairs &&
                      std::all_of(all.begin(), all.end(),
                                  [&](const Move& m) { return m.bytes == all.front().bytes; });
    return even ? all : std::vector<Move>{};
  }
  const std::uint64_t bytes = c.count * size_of(c.dtype);
  const bool scatters = c.kind == CollectiveKind::reduce_scatter;
  std::vector<Move> all;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      all.push_back({from, to, scatters ? static_cast<std::uint64_t>(to) * bytes : 0, 0, bytes});
    }
  }
  return all;
}

// An all_reduce sends the whole buffer to all ranks, in packets of twice its bytes: each of n ranks
// sends 2 (n - 1)^2 / n times the buffer more than with barriers. Two H200 in a graph take 8.4 us
// for 512 KiB with packets and 9.1 us with barriers, for 1 MiB 12.2 and 10.3 us. For more ranks the
// limit keeps the additional bytes the same.
constexpr std::uint64_t kMostReducedBytes = 320 << 10;

// With a norm, which otherwise is a kernel of its own.
constexpr std::uint64_t kMostNormedBytes = 512 << 10;

std::uint64_t most_bytes(const Collective& c, int ranks) {
  if (c.kind != CollectiveKind::all_reduce) return kMostBytes / static_cast<std::uint64_t>(ranks);
  const auto others = static_cast<std::uint64_t>(ranks - 1);
  const std::uint64_t most = c.norm.columns > 0 ? kMostNormedBytes : kMostReducedBytes;
  return most * static_cast<std::uint64_t>(ranks) / (others * others);
}

}  // namespace

std::uint64_t packet_bytes(const Collective& collective, int ranks) {
  if (collective.kind == CollectiveKind::neighbor_exchange) return 0;
  if (ranks < 2 || index_of(ranks) > kMostPacketPeers + 1) return 0;
  const std::vector<Move> all = even_moves(collective, ranks);
  if (all.empty() || all.front().bytes > most_bytes(collective, ranks)) return 0;
  return all.front().bytes;
}

std::vector<PacketPart> packet_parts(const Collective& collective, int rank, int ranks,
                                     bool in_place) {
  const std::vector<Move> all = even_moves(collective, ranks);
  std::vector<PacketPart> parts;
  for (int distance = 0; distance < ranks; ++distance) {
    const int peer = (rank + distance) % ranks;
    const Move& to = all[index_of(rank * ranks + peer)];
    const Move& from = all[index_of(peer * ranks + rank)];
    parts.push_back({{BufferRole::send, rank, to.from_offset, to.bytes},
                     {BufferRole::recv, rank, from.to_offset, from.bytes}});
  }
  const bool stays = in_place && !reduces(collective.kind);
  if (stays) parts.front().target = parts.front().source;
  return parts;
}

}  // namespace duet
