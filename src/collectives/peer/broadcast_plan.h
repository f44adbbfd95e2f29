// A broadcast by copy engines, as a pipeline: the root deals out pieces, and those who get them
// pass them on while the next ones come.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "collectives/engine.h"
#include "collectives/peer/broadcast_schedule.h"
#include "collectives/peer/copy_steps.h"
#include "collectives/peer/peers.h"

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
  bool is_dealt_to(int number) const { return number < static_cast<int>(pieces_.size()); }

  void push_all(const Span& source);
  CopyStep step_of(const RelayPush& push, const Span& source) const;
  void meet_others();
  Flag arrived(int owner, int piece, int part) const;
  Flag turn_of(const RelayPush& push) const;

  const std::vector<PieceOf> pieces_;
  const int root_;
  Peers peers_;
  Lanes& lanes_;
  Watchdog& watchdog_;
  CopySteps copies_;
  std::vector<RelayPush> pushes_;  // of all ranks
  int parts_;     // flags a piece: in order one for all that passes it on, else one for each push
  int arrivals_;  // flags for the pieces that a rank is dealt
  Words words_;   // of each rank these, then one for each of its pushes: of the root as many as
                  // pieces, of others at most others() more
  Meeting begin_, end_;
  std::optional<Copy> own_;  // within the root's device
  double wire_bytes_ = 0;
};

}  // namespace duet
