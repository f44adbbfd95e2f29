#include "collectives/nodes/node_handshakes.h"

namespace duet {

PeerChannels::PeerChannels(Rank& rank, const Span& receive_buffer)
    : rank_(rank.index),
      recv_(rank, receive_buffer, "the other ranks' receive buffers"),
      semaphores_(rank, 2 * rank.size) {}

}  // namespace duet
