// Flags and buffers between ranks.
#include "collectives/peer/peers.h"

namespace duet {

Peers::Peers(Rank& rank, const Span& recv)
    : rank_(rank.index),
      recv_(rank, recv, "the other ranks' receive buffers"),
      words_(rank, 2 * rank.size) {}

}  // namespace duet
