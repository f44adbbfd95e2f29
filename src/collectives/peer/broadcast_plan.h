// A broadcast by copy engines, as a pipeline: those who get a piece pass it on while the next ones
// come.
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
  // Inside Team::each(), by every rank of at least 3, with the same pieces: all of the buffer in
  // bytes, one behind the other. The lanes' one for a kernel is for the part that stays on the
  // root's device.
  BroadcastPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
                Lanes& lanes, Watchdog& watchdog, const std::vector<ByteRange>& pieces);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;

 private:
  // Others are numbered in the order of ranks from the root's on; the root comes last.
  int others() const { return peers_.size() - 1; }
  int number_of(int rank) const { return (rank - root_ + others()) % peers_.size(); }
  int rank_of(int number) const { return (root_ + 1 + number) % peers_.size(); }

  void note_relays();
  bool passes_on(int number, int piece) const;
  void push_all(const Span& source);
  CopyStep step_of(const RelayPush& push, const Span& source, int part);
  void meet_others();
  Semaphore arrived(int owner, int piece, int part) const;

  const std::vector<ByteRange> pieces_;
  const int root_;
  PeerChannels peers_;
  Lanes& lanes_;
  CopySteps copies_;
  std::vector<RelayPush> pushes_;  // of all ranks
  std::vector<bool> relays_;       // by number and piece
  int parts_;  // semaphores a piece: in order one for all that passes it on, else one for each push
  PeerSemaphores words_;   // of each rank these for every piece
  std::set<int> greeted_;  // ranks whose `ready` a push waits for
  Handshake begin_, end_;
  std::optional<Copy> own_;  // within the root's device
  Watched watched_channels_, watched_words_;
};

}  // namespace duet
