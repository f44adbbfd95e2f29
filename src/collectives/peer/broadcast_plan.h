// A broadcast by copy engines, as a pipeline: a rank that has received a piece passes it on while
// it receives the next one.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "collectives/peer/broadcast_schedule.h"
#include "collectives/peer/lanes.h"
#include "collectives/peer/peer_channels.h"
#include "collectives/peer/peer_plan.h"

namespace duet {

class BroadcastPlan : public PeerPlan {
 public:
  // Collective: every rank, of at least 3, constructs it inside Team::each() with the same pieces,
  // which cover the buffer in order. The last of the lanes is for the root's local copy.
  BroadcastPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
                SideStreams& lanes, Watchdog& watchdog, const std::vector<ByteRange>& pieces);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;

 private:
  // The other ranks are numbered from the one after the root; the root has the last number.
  int others() const { return peers_.size() - 1; }
  int number_of(int rank) const { return (rank - root_ + others()) % peers_.size(); }
  int rank_of(int number) const { return (root_ + 1 + number) % peers_.size(); }

  void note_relays();
  bool passes_on(int number, int piece) const;
  void push_all(const Span& source);
  CopyStep step_of(const RelayPush& push, const Span& source, int part);
  void plan_handshakes();
  Semaphore arrived(int owner, int piece, int part) const;

  const std::vector<ByteRange> pieces_;
  const int root_;
  PeerChannels peers_;
  SideStreams& lanes_;
  CopySteps copies_;
  std::vector<RelayPush> pushes_;  // of all ranks
  std::vector<bool> relays_;       // by number and piece
  int parts_;  // semaphores per piece at a rank: one for all its pushes of it in order, else one
               // each
  SpacedPeerSemaphores words_;  // at each rank parts_ for every piece
  std::set<int> greeted_;       // ranks whose `ready` a push waits for already
  Handshake begin_, end_;
  std::optional<Copy> local_;  // the root's local copy
  Watched watched_channels_, watched_words_;
};

}  // namespace duet
