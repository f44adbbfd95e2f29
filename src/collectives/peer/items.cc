// Collectives as items of an exchange.
#include "collectives/peer/items.h"

#include <algorithm>

namespace duet {
namespace {

// Parts that go to several ranks are read once.
std::vector<ExchangeItem> pushes(const Collective& collective, int rank, const PeerMemory& send,
                                 const PeerMemory& recv) {
  std::vector<ExchangeItem> items;
  std::uint64_t last_offset = 0;
  for (const Move& move : moves(collective, recv.size())) {
    if (move.from != rank) continue;
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

}  // namespace

Part part_of(std::uint64_t count, int part, int parts) {
  const auto n = static_cast<std::uint64_t>(parts), i = static_cast<std::uint64_t>(part);
  const std::uint64_t share = count / n, more = count % n;
  return {share * i + std::min(i, more), share + (i < more ? 1 : 0)};
}

std::vector<ExchangeItem> exchange_items(const Collective& c, int rank, const PeerMemory& send,
                                         const PeerMemory& recv) {
  if (!reduces(c.kind)) return pushes(c, rank, send, recv);
  const int ranks = send.size();
  const std::uint64_t size = size_of(c.dtype);
  const bool scattered = c.kind == CollectiveKind::reduce_scatter;
  const Part own = scattered ? Part{c.count * static_cast<std::uint64_t>(rank), c.count}
                             : part_of(c.count, rank, ranks);
  if (own.count == 0) return {};
  ExchangeItem item;
  for (int peer = 0; peer < ranks; ++peer) {
    // From the next one on: all read from different ranks at first.
    const int from = (rank + peer) % ranks;
    item.sources.push_back(send.at(from).slice(own.begin * size, own.count * size));
    if (!scattered) {
      item.destinations.push_back(recv.at(from).slice(own.begin * size, own.count * size));
    }
  }
  if (scattered) item.destinations.push_back(recv.at(rank).slice(0, own.count * size));
  return {item};
}

}  // namespace duet
