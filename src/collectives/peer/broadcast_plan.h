// A broadcast by copy engines, as a pipeline: those who get a piece pass it on while the next ones
// come.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "collectives/engine.h"
#include "collectives/peer/broadcast_schedule.h"
#include "collectives/peer/copy_steps.h"
#include "collectives/peer/peer_channels.h"

namespace duet {

class BroadcastPlan : public CollectivePlan {
 public:
  // Inside Team::each(), by every rank of at least 3, with the same pieces: all of the buffer in
  // bytes, one behind the other. The lanes' one for a kernel is for the part that stays on the
  // root's device.
  BroadcastPlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
                Lanes& lanes, Watchdog& watchdog, const std::vector<PieceOf>& pieces);
  ~BroadcastPlan() override;

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;
  double wire_bytes() const override { return wire_bytes_; }

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

  const std::vector<PieceOf> pieces_;
  const int root_;
  PeerChannels peers_;
  Lanes& lanes_;
  Watchdog& watchdog_;
  CopySteps copies_;
  std::vector<RelayPush> pushes_;  // of all ranks
  std::vector<bool> relays_;       // by number and piece
  int parts_;  // semaphores a piece: in order one for all that passes it on, else one for each push
  Semaphores words_;       // of each rank these for every piece
  std::set<int> greeted_;  // ranks whose `ready` a push waits for
  Handshake begin_, end_;
  std::optional<Copy> own_;  // within the root's device
  double wire_bytes_ = 0;
};

}  // namespace duet
