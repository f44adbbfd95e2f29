#pragma once

#include "collectives/nodes/wire.h"
#include "collectives/session/peer_semaphores.h"
#include "team/peer_memory.h"

namespace duet {

// Each rank's receive buffer, this rank's included, and two semaphores per peer in each direction.
//
//   receiver  --ready-->  sender     "you may write my receive buffer"
//   sender    --done--->  receiver   "your data have arrived"
//
// Invariant: while no rank is in a call, every semaphore is 0. The rank that waits for one sets it
// back, so that a captured call can be replayed.
class PeerChannels {
 public:
  // Collective: every rank constructs it inside Team::each(). Throws Unreachable on all ranks if
  // one cannot map another's receive buffer.
  PeerChannels(Rank& rank, const Span& receive_buffer);

  int rank() const { return rank_; }
  int size() const { return recv_.size(); }
  const Span& recv(int peer) const { return recv_.at(peer); }

  // Signalled by this rank, and awaited by this rank.
  Semaphore ready_to(int peer) const { return semaphore(peer, rank_); }
  Semaphore ready_from(int peer) const { return semaphore(rank_, peer); }
  Semaphore done_to(int peer) const { return semaphore(peer, size() + rank_); }
  Semaphore done_from(int peer) const { return semaphore(rank_, size() + peer); }

  DeviceWaits& waits() { return semaphores_; }

 private:
  Semaphore semaphore(int owner, int index) const { return semaphores_.at(owner, index); }

  int rank_;
  PeerMemory recv_;  // before the semaphores: where it fails, no rank has mapped another's
  SpacedPeerSemaphores semaphores_;
};

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
