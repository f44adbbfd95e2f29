// Flags and buffers between ranks.
#include "collectives/peer/peers.h"

namespace duet {

Peers::Peers(Rank& rank, const Span& recv)
    : rank_(rank.index),
      words_(rank, 2 * rank.size),
      recv_(rank, recv, "the other ranks' receive buffers") {}

}  // namespace duet
