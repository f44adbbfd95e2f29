// reduce_scatter over nodes, and the first half of an all_reduce: the ranks of a node reduce what
// belongs to another node's rank at that rank's column, which sends the result there.
//
//   ranks i of node a          rank j of node a                        rank j of node b
//   piece for (b, j) --push--> slots --+
//                              own ----+--kernel--> outgoing slot --message--> incoming slots --+
//                                                              its node's pieces, as above
//                                                              ----+--kernel--> result
//
// Pieces follow each other. Of piece k what goes to other nodes comes first, and then what comes
// from them for piece k - 1, so that the network always has something to carry.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "collectives/nodes/local_moves.h"
#include "collectives/nodes/staging.h"
#include "collectives/nodes/wire.h"
#include "collectives/partition.h"
#include "collectives/session/peer_plan.h"

namespace duet {

class ScatterPlan : public PeerPlan {
 public:
  // Collective: every rank constructs it inside Team::each(). The collective reduces. A piece has
  // at most `largest_piece` bytes, rounded up to 4 KiB; 0: what message_for() says.
  ScatterPlan(NodeRank& rank, const Collective& collective, const CollectiveBuffers& buffers,
              SideStreams& lanes, MoveBy by, const MakeWire& make_wire, Watchdog& watchdog,
              std::uint64_t largest_piece = 0);

  void enqueue(Stream& stream) override;
  std::string algorithm() const override;
  void poison_staging() override;

 private:
  // What the ranks of a node reduce together, each for its column: a piece of the parts of the
  // ranks of the node at a distance; 0: of their own.
  struct Round {
    int distance = 0;
    std::uint64_t piece = 0;
    int slot = 0;             // at the ranks that reduce
    std::size_t message = 0;  // that it makes; of distance 0: the first one that it needs
  };

  void plan_rounds(const NodeRank& rank);
  // Of a rank's part, in the send buffer; perhaps without bytes.
  ByteRange piece_of(int rank, std::uint64_t piece) const;
  WireTraffic traffic(const NodeRank& rank) const;
  Span outgoing(std::size_t message, std::uint64_t bytes) const;
  Span incoming(std::size_t message, std::uint64_t bytes) const;
  // Alone on its node a rank sends its own pieces as they are.
  bool reduces(const Round& round) const { return staging_.has_value() || round.distance == 0; }
  void push(const NodeRank& rank, const Round& round);
  LocalKernelItem reduced(const NodeRank& rank, const Round& round) const;
  void add_arrivals(const NodeRank& rank, const Round& round, std::uint64_t bytes,
                    LocalKernelItem& item) const;

  Device& device_;
  CollectiveBuffers buffers_;
  SideStreams& lanes_;
  std::vector<ByteRange> parts_;  // of the send buffer, by rank
  std::uint64_t piece_bytes_ = 0, pieces_ = 0;
  std::uint64_t result_ = 0;  // where this rank's part begins in the receive buffer
  std::vector<Round> rounds_;
  std::size_t messages_ = 0;
  std::optional<Staging> staging_;  // not where a node has one rank
  Buffer outgoing_;
  std::unique_ptr<Wire> wire_;
  LocalMoves moves_;
  std::unique_ptr<PreparedKernel> reduction_;
  SideStreams kernel_lane_;
  Handshake last_gone_;  // of the messages whose slots no later one waits for
  std::optional<Watched> watched_;
};

}  // namespace duet
