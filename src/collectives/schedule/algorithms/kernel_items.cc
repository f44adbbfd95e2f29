#include "collectives/schedule/algorithms/kernel_items.h"

#include <utility>

#include "collectives/partition.h"

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

}  // namespace duet
