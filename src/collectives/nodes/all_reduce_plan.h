#pragma once

#include "collectives/nodes/gather_plan.h"
#include "collectives/nodes/scatter_plan.h"

namespace duet {

// Every rank has a part of the result reduced, and all ranks gather the parts.
class NodesAllReducePlan : public CollectivePlan {
 public:
  // As ScatterPlan() and GatherPlan().
  NodesAllReducePlan(NodeRank& rank, const Collective& collective, const CollectiveBuffers& buffers,
                     SideStreams& lanes, MoveBy by, const MakeWire& make_wire, Watchdog& watchdog,
                     std::uint64_t largest = 0)
      : scatter_(rank, collective, buffers, lanes, by, make_wire, watchdog, largest),
        gather_(rank, own_part(rank, collective, buffers.recv), buffers.recv,
                parts(collective, rank.whole.size), lanes, by, make_wire, watchdog, largest) {}

  void enqueue(Stream& stream) override {
    scatter_.enqueue(stream);
    gather_.enqueue(stream);
  }
  std::string algorithm() const override {
    return scatter_.algorithm() + "; then " + gather_.algorithm();
  }
  void poison_staging() override { scatter_.poison_staging(); }
  double wire_bytes() const override { return scatter_.wire_bytes() + gather_.wire_bytes(); }
  double network_bytes() const override {
    return scatter_.network_bytes() + gather_.network_bytes();
  }

 private:
  static std::vector<ByteRange> parts(const Collective& collective, int ranks) {
    std::vector<ByteRange> all;
    for (int rank = 0; rank < ranks; ++rank) all.push_back(reduced_part(collective, rank, ranks));
    return all;
  }
  static Span own_part(const NodeRank& rank, const Collective& collective, const Span& recv) {
    const ByteRange own = reduced_part(collective, rank.whole.index, rank.whole.size);
    return recv.slice(own.begin, own.bytes);
  }

  ScatterPlan scatter_;
  GatherPlan gather_;
};

}  // namespace duet
