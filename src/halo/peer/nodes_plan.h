// Boundary rows between ranks of several nodes: copy engines or compute units push them to
// neighbours of the same node, rails carry them to the others. Rails reach their own column alone,
// so a row for local index j of another node goes there from local index j of this node:
//
//   rank (a, i), the last of its node    rank (a, j)                    rank (b, j), below (a, i)
//   last row --push--> slot of i
//            --full-------------------> (forwarding lane) go --message--> upper halo, come
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/session/lanes.h"
#include "collectives/session/wire.h"
#include "halo/engine.h"
#include "halo/parts.h"
#include "halo/peer/neighbours.h"

namespace duet {

// An iteration, as PushingPlan's, with the wire's begin() before the sweep: the halo that it writes
// was last read by the iteration before. One wire for each parity. A slot needs no permission: who
// fills it for iteration k + 2 has the neighbour's row of k + 1, which follows the row of k there.
class NodesPlan : public HaloPlan {
 public:
  // Collective: every rank constructs it inside Team::each().
  NodesPlan(NodeRank& rank, const HaloTask& task, Executor executor, const MakeWire& make_wire,
            Watchdog& watchdog);

  const FieldShape& shape() const override { return parts_.shape(); }
  Span field(int parity) const override { return field_of(fields_.own().span(), shape(), parity); }
  std::int64_t partials() const override { return parts_.partials(); }
  void enqueue(Stream& stream, const Iteration& iteration) override;
  std::string algorithm() const override;

 private:
  // What the ranks of this column send: on every node the row of one local index for its neighbour
  // on one side, where that neighbour is of this column and so many nodes further.
  struct Route {
    SideOfRank side;
    int distance = 0, source = 0;
  };
  // Everything of one parity, that of the field that is written.
  struct Exchange {
    struct Push {
      SideOfRank side;
      Span to;
      Handshake pushed;
    };
    struct Forward {
      Handshake full, go;
    };
    std::vector<Push> pushes;       // to this node's ranks
    std::vector<Forward> forwards;  // of other ranks' rows, from slots
    Handshake go;                   // of this rank's own messages
    Handshake end;
    std::unique_ptr<Wire> wire;
  };

  static Span field_of(const Span& both, const FieldShape& shape, int parity) {
    return both.slice(static_cast<std::size_t>(parity) * shape.bytes(), shape.bytes());
  }
  int neighbour(int rank, SideOfRank side) const;
  FieldShape shape_of_rank(int rank) const;
  // Whether that route leads from this node of the column, or only from others.
  bool leads(const NodeRank& rank, const Route& route, int node) const;
  void find_routes(const NodeRank& rank);
  // In the two fields of `owner`: the halo row for the row of its neighbour, who sees it on `side`.
  std::uint64_t halo_offset(int owner, SideOfRank side, int parity) const;
  Span slot(int owner, int source, SideOfRank side, int parity) const;
  Semaphore arrived(int owner, SideOfRank side, int parity) const;
  Semaphore full(int owner, int source, SideOfRank side, int parity) const;
  Span own_row(SideOfRank side, int parity) const;
  WireTraffic traffic(const NodeRank& rank, int parity) const;
  void plan_pushes(const NodeRank& rank, int parity);
  void plan_messages(const NodeRank& rank, int parity);
  void push(Stream& stream, Exchange& now, int parity);

  HaloGrid grid_;
  bool overlap_;
  Executor executor_;
  SweepParts parts_;
  SideStreams lanes_;    // that push
  SideStreams forward_;  // one, which waits for slots
  OfferedMemory fields_, slots_;
  PeerSemaphores semaphores_;
  std::vector<Route> routes_;
  Exchange exchanges_[2];  // by parity
  Watched watched_;
};

}  // namespace duet
