// What one rank's plan has of its peers: their receive buffers, and semaphores between every two.
#pragma once

#include "collectives/peer/semaphores.h"
#include "team/peer_memory.h"

namespace duet {

// Flags are 0 between two calls. `ready` says that a receive buffer may be written, `done` that it
// was.
class PeerChannels {
 public:
  // Inside Team::each(), by every rank.
  PeerChannels(Rank& rank, const Span& recv);

  int rank() const { return rank_; }
  int size() const { return recv_.size(); }
  const Span& recv(int peer) const { return recv_.at(peer); }

  // That this rank tells `peer`, and that it hears from it.
  Semaphore ready_to(int peer) const { return word(peer, rank_); }
  Semaphore ready_from(int peer) const { return word(rank_, peer); }
  Semaphore done_to(int peer) const { return word(peer, size() + rank_); }
  Semaphore done_from(int peer) const { return word(rank_, size() + peer); }

  Waiting& waiting() { return words_; }

 private:
  Semaphore word(int owner, int index) const { return {words_.at(owner, index)}; }

  int rank_;
  PeerMemory recv_;  // before the words: where it fails, no rank has another's mapped
  Semaphores words_;
};

}  // namespace duet
