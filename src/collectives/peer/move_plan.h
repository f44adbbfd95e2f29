// A collective that only moves data: every rank pushes its parts into the others' receive buffers.
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
  // Collective: every rank constructs it inside Team::each(). The local copy runs on the first lane
  // that no push uses. Where choose_local_copy() defers it, it starts after the first `defer_bytes`
  // of pushes.
  MovePlan(Rank& rank, const Collective& collective, const CollectiveBuffers& buffers,
           SideStreams& lanes, Watchdog& watchdog, std::size_t defer_bytes = kDeferLocalCopyBytes);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;

 private:
  // The pushes to one peer, and what their lane signals after them: nothing, or `done` of all peers
  // of the lane.
  struct Delivery {
    std::vector<Copy> copies;
    Handshake done;
  };

  void plan_local_copy(Device& device, std::size_t defer_bytes);
  void copy_local(Stream& lane);
  void signal_once_per_lane();
  void deliver(const Rank& rank, const CollectiveBuffers& buffers, const std::vector<Move>& list);

  PeerChannels peers_;
  SideStreams& lanes_;
  int lanes_in_use_ = 1;
  Handshake begin_, end_;
  std::vector<Delivery> deliveries_;  // in the order of pushing
  std::vector<Copy> local_;           // copies within the device
  LocalCopyMethod local_method_ = LocalCopyMethod::one_warp_per_sm;
  std::size_t pushes_before_local_ = 0;
  std::unique_ptr<Event>
      before_local_;  // after these pushes; nullptr: the local copy starts at once
  Watched watched_;
};

}  // namespace duet
