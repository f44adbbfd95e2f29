// What each rank of a collective does in a single exchange of compute units.
#pragma once

#include <vector>

#include "collectives/collective.h"
#include "device/exchange.h"
#include "team/peer_memory.h"

namespace duet {

// Rank `rank`'s items. Where it moves, it pushes its parts; where it reduces, it reads its own part
// of the result from all, and all_reduce pushes that to all.
std::vector<ExchangeItem> exchange_items(const Collective& collective, int rank,
                                         const PeerMemory& send, const PeerMemory& recv);

// The part of `count` elements that is part `part` of `parts`: equal but for the first ones, which
// have one element more where it does not divide.
struct Part {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};
Part part_of(std::uint64_t count, int part, int parts);

}  // namespace duet
