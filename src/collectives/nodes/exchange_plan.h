// all_to_all over nodes: what a node's ranks have for one rank of another node goes there from that
// rank's column, as one message. Rails reach their own column alone on rail-optimised networks.
//
//   rank i of node a         rank j of node a                       rank j of node b
//   part for (b, j) --push--> staging slot --+
//                             own part ------+--message-->  parts of (a, 0), (a, 1) ..., where they
//                                                           belong in the receive buffer
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "collectives/nodes/local_moves.h"
#include "collectives/nodes/node_handshakes.h"
#include "collectives/nodes/staging.h"
#include "collectives/nodes/wire.h"
#include "collectives/partition.h"
#include "collectives/session/peer_plan.h"

namespace duet {

class ExchangePlan : public PeerPlan {
 public:
  // As GatherPlan(). A piece of a part has at most `largest_piece` bytes. In place it first copies
  // the buffer to memory of its own.
  ExchangePlan(NodeRank& rank, CollectiveBuffers buffers, SideStreams& lanes, MoveBy by,
               const MakeWire& make_wire, Watchdog& watchdog, std::uint64_t largest_piece);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;
  void poison_staging() override {
    if (staging_) staging_->poison();
  }

 private:
  // One message of each rank of a column: a piece of the parts for the node at a distance.
  struct Round {
    int distance = 0;
    ByteRange piece;
    int slot = 0;
  };

  void copy_first(NodeRank& rank, CollectiveBuffers& buffers);
  void plan_rounds(const NodeRank& rank, std::uint64_t largest_piece);
  WireMessage message(const NodeRank& rank, const CollectiveBuffers& buffers,
                      const Round& round) const;
  void stage(const NodeRank& rank, const CollectiveBuffers& buffers, const Round& round);
  void move_in_node(const NodeRank& rank, const CollectiveBuffers& buffers, const ByteRange& piece);
  void copy_own(const NodeRank& rank, const CollectiveBuffers& buffers);
  void plan_moves(const NodeRank& rank, const CollectiveBuffers& buffers);
  // Behind the pushes of its round.
  void send(Stream& stream, std::size_t message);

  PeerChannels peers_;  // of the node
  NodeHandshakes in_node_;
  SideStreams& lanes_;
  Buffer sent_;  // what is sent, where the call is in place
  std::optional<Copy> to_sent_;
  std::uint64_t part_;             // bytes
  std::vector<ByteRange> pieces_;  // of a part
  std::vector<Round> rounds_;
  std::uint64_t slot_bytes_ = 0;
  std::optional<Staging> staging_;  // not where a node has one rank
  std::unique_ptr<Wire> wire_;
  LocalMoves moves_;
  std::vector<Copy> local_;  // the rank's own part
  Handshake arrivals_;
  // Of each round: all slots are full, then the message may go; it has gone, then they are free.
  std::vector<Handshake> full_, go_, gone_, free_;
  SideStreams slot_lanes_;  // those that wait for `full`, and for `gone`
  Watched watched_;
  std::optional<Watched> watched_staging_;
};

}  // namespace duet
