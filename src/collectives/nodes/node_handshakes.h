#pragma once

#include "collectives/nodes/wire.h"
#include "collectives/session/peer_channels.h"

namespace duet {

// The handshakes of a call between a rank and the others of its node, each of which writes into the
// other's receive buffer. Empty where a node has one rank.
//
//   receiver  --ready--> (may_write)  writer     "my receive buffer may be written"
//   writer    --done---> (done)       receiver   "what I had for you has arrived"
struct NodeHandshakes {
  NodeHandshakes(const PeerChannels& channels, const NodeRank& rank) {
    for (int step = 1; step < rank.node_size(); ++step) {
      const int peer = (rank.local + step) % rank.node_size();
      ready.signals.push_back(channels.ready_to(peer));
      may_write.waits.push_back(channels.ready_from(peer));
      done.signals.push_back(channels.done_to(peer));
      done.waits.push_back(channels.done_from(peer));
    }
  }

  Handshake ready, may_write, done;
};

}  // namespace duet
