// all_gather over nodes: each rank sends its chunk to its column, and what comes goes on to the
// other ranks of its node. Rails and copy engines work at the same time.
#pragma once

#include <memory>
#include <vector>

#include "collectives/nodes/local_moves.h"
#include "collectives/nodes/node_handshakes.h"
#include "collectives/nodes/wire.h"
#include "collectives/partition.h"
#include "collectives/session/peer_plan.h"

namespace duet {

// So many bytes of each rank, one after the other.
std::vector<ByteRange> equal_parts(std::uint64_t bytes, int ranks);

class GatherPlan : public PeerPlan {
 public:
  // Collective: every rank constructs it inside Team::each(). Throws Unreachable on all ranks where
  // ranks of a node cannot map each other's receive buffers. A message has at most
  // `largest_message` bytes; 0: what message_for() says.
  //
  // `parts`: of the receive buffer, by rank; `own` is this rank's.
  GatherPlan(NodeRank& rank, const Span& own, const Span& recv, std::vector<ByteRange> parts,
             SideStreams& lanes, MoveBy by, const MakeWire& make_wire, Watchdog& watchdog,
             std::uint64_t largest_message = 0);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;

 private:
  const ByteRange& part(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }
  WireTraffic traffic(const NodeRank& rank) const;
  void pass_on(const NodeRank& rank);
  void plan_own(const NodeRank& rank);
  // The messages of the rank's part to, or from, a node at this distance. They are as many for all
  // ranks, some perhaps without bytes.
  std::vector<ByteRange> messages(int rank, int distance) const;
  std::vector<Span> at_others(const NodeRank& rank, std::uint64_t offset,
                              std::uint64_t bytes) const;

  PeerChannels peers_;  // of the node
  NodeHandshakes in_node_;
  SideStreams& lanes_;
  Span own_;
  std::vector<ByteRange> parts_;  // by rank
  // Of the largest part: to the nearest node, and to others.
  std::vector<ByteRange> first_messages_, messages_;
  std::size_t wire_messages_ = 0;  // to all nodes
  std::unique_ptr<Wire> wire_;
  LocalMoves moves_;
  std::vector<Copy> local_;  // the rank's own chunk, where it is not in place
  Handshake arrivals_;
  Watched watched_;
};

}  // namespace duet
