// What one rank's plan has of its peers: their receive buffers, and flags between every two.
#pragma once

#include "collectives/peer/words.h"
#include "team/peer_memory.h"

namespace duet {

// Flags are 0 between two calls. `ready` says that a receive buffer may be written, `done` that it
// was.
class Peers {
 public:
  // Inside Team::each(), by every rank.
  Peers(Rank& rank, const Span& recv);

  int rank() const { return rank_; }
  int size() const { return recv_.size(); }
  const Span& recv(int peer) const { return recv_.at(peer); }

  // That this rank tells `peer`, and that it hears from it.
  Flag tell_ready(int peer) const { return word(peer, rank_); }
  Flag hear_ready(int peer) const { return word(rank_, peer); }
  Flag tell_done(int peer) const { return word(peer, size() + rank_); }
  Flag hear_done(int peer) const { return word(rank_, size() + peer); }

  Waiting& waiting() { return words_; }

 private:
  Flag word(int owner, int index) const { return {words_.at(owner, index)}; }

  int rank_;
  PeerMemory recv_;  // before the words: where it fails, no rank has another's mapped
  Words words_;
};

}  // namespace duet
