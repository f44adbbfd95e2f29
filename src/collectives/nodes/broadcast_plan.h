// A broadcast over nodes: the root gives each rank of its node a part, and these ranks gather the
// parts to all ranks, each to its own column, so that all rails of the root's node are used.
#pragma once

#include "collectives/nodes/gather_plan.h"

namespace duet {

class NodesBroadcastPlan : public PeerPlan {
 public:
  // As GatherPlan().
  NodesBroadcastPlan(NodeRank& rank, const Collective& collective, const CollectiveBuffers& buffers,
                     SideStreams& lanes, MoveBy by, const MakeWire& make_wire, Watchdog& watchdog,
                     std::uint64_t largest_message = 0);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;
  double wire_bytes() const override { return PeerPlan::wire_bytes() + gather_.wire_bytes(); }
  double network_bytes() const override { return gather_.network_bytes(); }

 private:
  // By rank of the whole team; those of other nodes have none.
  static std::vector<ByteRange> parts(const NodeRank& rank, const Collective& collective);
  static Span own_part(const NodeRank& rank, const Collective& collective,
                       const CollectiveBuffers& buffers);

  PeerChannels peers_;  // of the node
  SideStreams& lanes_;
  LocalMoves moves_;  // the root's
  Handshake before_, after_;
  GatherPlan gather_;
  Watched watched_;
};

}  // namespace duet
