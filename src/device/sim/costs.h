#pragma once

#include <map>
#include <vector>

#include "device/sim/clock.h"
#include "device/sim/platform.h"
#include "device/stream.h"

namespace duet::sim {

// The time model of one operation: its latency passes first, then its flow.
struct OperationCost {
  double latency = 0;
  Flow flow;
  bool takes_engine = false;  // one of the issuer's DMA engines, from before the latency to the end
  bool resident = false;      // a part of a kernel that has its units already
};

// Who issues an operation.
struct Issuer {
  int device = 0;
  int priority = 0;
  int rail = -1;  // of those of the device, for what goes to another node; -1: all of them
};

// Where a span lies.
struct MemoryLocation {
  int device = 0;
  MemoryKind kind = MemoryKind::device;
};

// Where the spans of a collective's kernel lie, and how a library's kernel differs from Duet's.
struct KernelLocations {
  struct Item {
    std::vector<MemoryLocation> sources;
    std::vector<MemoryLocation> destinations;
    double bytes = 0;  // of each
  };
  std::vector<Item> items;
  std::vector<MemoryLocation> arrivals;
  int blocks = 0;
  // Of a library's kernel:
  NodeAlgorithm node_algorithm = NodeAlgorithm::direct;
  double latency = 0;         // beyond the launch
  double link_share = 1;      // of what a kernel gets of a link
  double unit_copy_rate = 0;  // 0: the device's own
  double memory = 1;          // traffic, times what is read and written
  double ramp_bytes = 0;      // LibraryModel's
  double network_share = 1;   // likewise
};

// The machine's model of time: operations to latencies and flows on a platform's resources. Memory
// counts bytes; links count their own time, so that pushes, pulls, engines and kernels can get
// different rates out of one link.
class CostModel {
 public:
  // Makes the machine's resources known to the clock. Both must outlive it.
  CostModel(const Platform& platform, VirtualClock& clock);

  // Throws BadArgument for what the hardware cannot do: kernels do not reach pageable memory.
  OperationCost copy(const Copy& copy, MemoryLocation source, MemoryLocation destination,
                     Issuer issuer) const;
  OperationCost fill(double bytes, MemoryLocation location, Issuer issuer) const;
  // Throws BadArgument for a demand that makes no sense, Unavailable for a dtype without a rate.
  OperationCost task(const Task& task, Issuer issuer) const;
  // Without its barriers. Throws BadArgument as copy().
  OperationCost kernel(const KernelLocations& locations, Issuer issuer) const;
  // Of one item by itself; the first one includes the launch.
  OperationCost kernel_item(const KernelLocations& locations, std::size_t item,
                            Issuer issuer) const;
  // From a kernel's write of a word until a peer sees it.
  double write_latency(MemoryLocation word, Issuer issuer) const;
  // The longest of these to all of its peers.
  double arrival_latency(const KernelLocations& locations, Issuer issuer) const;
  double signal_latency(MemoryLocation word, Issuer issuer) const;
  bool same_node(int a, int b) const {
    return a / platform_.node_devices == b / platform_.node_devices;
  }
  double wait_latency() const { return platform_.device.wait_latency; }

 private:
  struct Resources {  // of one device
    int units, memory, power, host_in, host_out, port_in, port_out, network_in, network_out;
    std::vector<int> rails_in, rails_out;
  };

  const Resources& of(int device) const { return devices_[static_cast<std::size_t>(device)]; }
  std::vector<ResourceUse> path(const Copy& copy, MemoryLocation source, MemoryLocation destination,
                                Issuer issuer) const;
  void add_link(std::vector<ResourceUse>& uses, int from, int to, double rate, int rail = -1) const;
  double link_latency(int from, int to) const;
  void add_power(std::vector<ResourceUse>& uses, int from, int to, double joules) const;
  PowerThrottle throttle(Issuer issuer) const;
  struct TrafficShares {
    double link = 1;    // of what a kernel gets of a link
    double memory = 1;  // traffic, times what is read and written
    // Of what goes straight to each peer, within the node and beyond it.
    double inside = 1, beyond = 1;
    bool ring = false;  // all goes to two neighbours instead
  };
  void share_across_nodes(TrafficShares& shares, const KernelLocations& locations) const;
  double steps(NodeAlgorithm node_algorithm, int ways) const;
  TrafficShares traffic_shares(const KernelLocations& locations, Issuer issuer) const;
  void add_traffic(std::map<int, double>& load, MemoryLocation location, double bytes, bool reads,
                   const TrafficShares& shares, Issuer issuer) const;
  void add_ring_traffic(std::map<int, double>& load, double bytes, const TrafficShares& shares,
                        Issuer issuer) const;
  Occupancy copy_units(const KernelShape& shape, bool to_peer, Issuer issuer) const;

  const Platform& platform_;
  std::vector<Resources> devices_;
  std::vector<int> links_;  // of a mesh, by from * devices + to
};

}  // namespace duet::sim
