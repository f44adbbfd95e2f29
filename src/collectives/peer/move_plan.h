// A collective that only moves: every rank pushes its parts straight into the others' receive
// buffers.
#pragma once

#include <memory>
#include <vector>

#include "collectives/peer/lanes.h"
#include "collectives/peer/local_copy.h"
#include "collectives/peer/peer_channels.h"
#include "collectives/peer/peer_plan.h"

namespace duet {

class MovePlan : public PeerPlan {
 public:
  // Inside Team::each(), by every rank. The lanes' one for a kernel is for the part that stays on
  // the device, which comes behind so many bytes of pushes where it has more.
  MovePlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers, Lanes& lanes,
           Watchdog& watchdog, std::size_t defer_bytes = kDeferLocalCopyBytes);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;

 private:
  // What goes to one peer.
  struct Delivery {
    std::vector<Copy> copies;
    Handshake done;
  };

  void plan_own(Device& device, std::size_t defer_bytes);
  void copy_own(Stream& lane);
  void signal_once_per_lane();
  void deliver(const Rank& rank, const CollectiveBuffers& buffers, const std::vector<Move>& list);

  PeerChannels peers_;
  Lanes& lanes_;
  int lanes_in_use_ = 1;
  Handshake begin_, end_;
  std::vector<Delivery> deliveries_;  // in the order in which they go
  std::vector<Copy> own_;             // within the device
  LocalCopy own_way_ = LocalCopy::one_warp_per_sm;
  std::size_t pushes_before_own_ = 0;
  std::unique_ptr<Event> before_own_;  // behind these; none: own_ comes at once
  Watched watched_;
};

}  // namespace duet
