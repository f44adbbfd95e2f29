#pragma once

#include <map>
#include <vector>

#include "device/sim/clock.h"
#include "device/sim/platform.h"
#include "device/stream.h"

namespace duet::sim {

// The modelled time of one operation: the latency passes first, then the flow runs.
struct OperationCost {
  double latency = 0;  // seconds
  Flow flow;
  // The operation holds one of the issuer's DMA engines from before the latency to its end.
  bool takes_engine = false;
  bool resident = false;  // part of a kernel that holds its compute units already
};

// The stream that issues an operation.
struct Issuer {
  int device = 0;
  int priority = 0;
  int rail = -1;  // the device's NIC for a copy to another node; -1: all of its NICs
};

// The device and the kind of memory in which a span lies.
struct MemoryLocation {
  int device = 0;
  MemoryKind kind = MemoryKind::device;
};

// The spans of a collective's kernel, and how a library's kernel differs from Duet's.
struct KernelLocations {
  struct Item {
    std::vector<MemoryLocation> sources;
    std::vector<MemoryLocation> destinations;
    double bytes = 0;  // of each span
  };
  std::vector<Item> items;
  std::vector<MemoryLocation> arrivals;  // the words at peers that barriers write
  int blocks = 0;                        // of the launch; 0: the device chooses
  bool adds = false;  // items add their source to their destination where the bytes arrive
  // Of a library's kernel (LibraryModel, LibraryKernel):
  NodeAlgorithm node_algorithm = NodeAlgorithm::direct;
  double latency = 0;         // seconds beyond the launch
  double link_share = 1;      // share of a kernel's rate on a link
  double unit_copy_rate = 0;  // bytes per second and unit; 0: the device's own
  double memory = 1;          // memory traffic over the bytes read and written
  double ramp_bytes = 0;
  double network_share = 1;
};

// Turns operations into latencies and flows on the resources of a platform. The unit of a memory
// resource is the byte. The unit of a link is its own time: a flow uses 1 / rate seconds of the
// link per byte. Pushes, pulls, engines and kernels can so have different rates on one link.
class CostModel {
 public:
  // Adds the platform's resources to the clock. Both must outlive the model.
  CostModel(const Platform& platform, VirtualClock& clock);

  // Throws BadArgument for a negative grid or block, and for a copy by kernel from or to pageable
  // memory, which kernels do not reach.
  OperationCost copy(const Copy& copy, MemoryLocation source, MemoryLocation destination,
                     Issuer issuer) const;
  OperationCost fill(double bytes, MemoryLocation location, Issuer issuer) const;
  // Throws BadArgument for a demand that is negative or not finite, or an efficiency outside
  // (0, 1]; Unavailable for a dtype without a peak rate.
  OperationCost task(const Task& task, Issuer issuer) const;
  // All items of a kernel as one operation, without its barriers. Throws BadArgument for pageable
  // memory.
  OperationCost kernel(const KernelLocations& locations, Issuer issuer) const;
  // One item by itself. Item 0 includes the launch.
  OperationCost kernel_item(const KernelLocations& locations, std::size_t item,
                            Issuer issuer) const;
  // Seconds from a kernel's write of a word until the word's device sees it.
  double write_latency(MemoryLocation word, Issuer issuer) const;
  // The longest write_latency() to any of the kernel's peers.
  double arrival_latency(const KernelLocations& locations, Issuer issuer) const;
  // Seconds that a stream's signal of the word takes.
  double signal_latency(MemoryLocation word, Issuer issuer) const;
  bool same_node(int a, int b) const {
    return a / platform_.node_devices == b / platform_.node_devices;
  }
  // Seconds from when a semaphore has its value until a waiting stream goes on.
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
    double link = 1;    // share of a kernel's rate on a link
    double memory = 1;  // memory traffic over the bytes read and written
    // Traffic on links within the node and on the network, over that of a direct exchange with each
    // peer.
    double inside = 1, beyond = 1;
    bool ring = false;  // all traffic goes to neighbours in a ring instead
    bool adds = false;  // writes are additions where the bytes arrive
  };
  void share_across_nodes(TrafficShares& shares, const KernelLocations& locations) const;
  double steps(NodeAlgorithm node_algorithm, int ways) const;
  TrafficShares traffic_shares(const KernelLocations& locations, Issuer issuer) const;
  void add_traffic(std::map<int, double>& load, MemoryLocation location, double bytes, bool reads,
                   const TrafficShares& shares, Issuer issuer) const;
  void add_ring_traffic(std::map<int, double>& load, double bytes, const TrafficShares& shares,
                        Issuer issuer) const;
  // At which a compute unit copies, with enough threads.
  double unit_rate(MemoryLocation source, MemoryLocation destination) const;
  Occupancy copy_units(const KernelShape& shape, bool to_peer, double unit_rate,
                       Issuer issuer) const;

  const Platform& platform_;
  std::vector<Resources> devices_;
  // A mesh's resources, by from * node_devices + the number of `to` within its node.
  std::vector<int> links_;
};

}  // namespace duet::sim
