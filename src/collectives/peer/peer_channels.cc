// Flags and buffers between ranks.
#include "collectives/peer/peer_channels.h"

namespace duet {

PeerChannels::PeerChannels(Rank& rank, const Span& recv)
    : rank_(rank.index),
      recv_(rank, recv, "the other ranks' receive buffers"),
      words_(rank, 2 * rank.size) {}

}  // namespace duet
