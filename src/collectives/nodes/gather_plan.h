// all_gather over nodes: each rank sends its chunk to its column, and what comes goes on to the
// other ranks of its node. Rails and copy engines work at the same time.
#pragma once

#include <memory>
#include <vector>

#include "collectives/nodes/local_moves.h"
#include "collectives/nodes/wire.h"
#include "collectives/peer/partition.h"
#include "collectives/peer/peer_channels.h"
#include "collectives/peer/peer_plan.h"

namespace duet {

class GatherPlan : public PeerPlan {
 public:
  // Collective: every rank constructs it inside Team::each(). Throws Unreachable on all ranks where
  // ranks of a node cannot map each other's receive buffers. A message has at most
  // `largest_message` bytes; 0: what message_for() says.
  GatherPlan(NodeRank& rank, const CollectiveBuffers& buffers, SideStreams& lanes, MoveBy by,
             const MakeWire& make_wire, Watchdog& watchdog, std::uint64_t largest_message = 0);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;

 private:
  void send_own(const NodeRank& rank, const CollectiveBuffers& buffers, WireTraffic& traffic);
  void pass_on(const NodeRank& rank);
  void plan_own(const NodeRank& rank, const CollectiveBuffers& buffers);
  const std::vector<ByteRange>& messages(int distance) const {
    return distance == 1 ? first_messages_ : messages_;
  }
  void plan_handshakes(const NodeRank& rank);
  std::vector<Span> at_others(const NodeRank& rank, std::uint64_t offset,
                              std::uint64_t bytes) const;

  PeerChannels peers_;  // of the node
  SideStreams& lanes_;
  // Of the chunk that goes to the nearest node, and of the others.
  std::vector<ByteRange> first_messages_, messages_;
  std::uint64_t chunk_;  // bytes
  std::unique_ptr<Wire> wire_;
  LocalMoves moves_;
  std::vector<Copy> local_;  // the rank's own chunk, where it is not in place
  Handshake ready_, may_write_, arrivals_, done_;
  Watched watched_;
};

}  // namespace duet
