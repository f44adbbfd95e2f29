#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "device/sim/costs.h"

namespace duet::sim {
namespace {

constexpr int kDefaultBlocks = 16;  // as local_kernel.cc of device/gpu

}  // namespace

double CostModel::write_latency(MemoryLocation word, Issuer issuer) const {
  if (word.kind != MemoryKind::device) return platform_.host.link_latency;
  return word.device == issuer.device ? 0 : link_latency(issuer.device, word.device);
}

double CostModel::arrival_latency(const KernelLocations& locations, Issuer issuer) const {
  double latency = 0;
  for (const MemoryLocation& word : locations.arrivals)
    latency = std::max(latency, write_latency(word, issuer));
  return latency;
}

OperationCost CostModel::kernel_item(const KernelLocations& locations, std::size_t item,
                                     Issuer issuer) const {
  KernelLocations alone;
  alone.items = {locations.items[item]};
  alone.blocks = locations.blocks;
  alone.adds = locations.adds;
  OperationCost cost = kernel(alone, issuer);
  cost.resident = item > 0;
  if (item > 0) cost.latency -= platform_.device.kernel.launch;
  return cost;
}

void CostModel::add_traffic(std::map<int, double>& load, MemoryLocation location, double bytes,
                            bool reads, const TrafficShares& shares, Issuer issuer) const {
  if (location.kind == MemoryKind::pageable) {
    throw BadArgument("kernel: kernels cannot access pageable memory");
  }
  if (location.kind == MemoryKind::pinned) {
    const Resources& own = of(issuer.device);
    load[reads ? own.host_in : own.host_out] += bytes / platform_.host.pinned_rate;
    return;
  }
  load[of(location.device).memory] += bytes * shares.memory;
  if (location.device == issuer.device) return;
  std::vector<ResourceUse> link;
  if (shares.adds) {
    load[of(location.device).memory] += bytes * shares.memory;  // read as well as written
    add_link(link, issuer.device, location.device, platform_.device.kernel.add_rate);
  } else if (reads) {
    add_link(link, location.device, issuer.device, shares.link * platform_.link.kernel_pull_rate);
  } else {
    add_link(link, issuer.device, location.device, shares.link * platform_.link.kernel_push_rate);
  }
  add_power(link, location.device, issuer.device, platform_.device.power.kernel_joules);
  const double share = same_node(location.device, issuer.device) ? shares.inside : shares.beyond;
  for (const ResourceUse& use : link) load[use.resource] += use.amount * bytes * share;
}

// With trees the devices of a node reduce first, and each sends its part to other nodes. A node
// that has two nodes below it in one of the two trees has none in the other. On the way up each
// node sends all bytes once, half of them in each tree. On the way down it sends all bytes once,
// half of them to each of the two nodes below it. With two nodes in all, each sends half as much.
void CostModel::share_across_nodes(TrafficShares& shares, const KernelLocations& locations) const {
  if (platform_.nodes == 1) return;
  shares.ring = locations.node_algorithm == NodeAlgorithm::ring;
  shares.beyond = 1 / locations.network_share;
  if (locations.node_algorithm != NodeAlgorithm::tree) return;
  const double nodes = platform_.nodes, node = platform_.node_devices;
  shares.inside = platform_.library.reduce_links * nodes;
  shares.beyond = (nodes > 2 ? nodes / (nodes - 1) : 1) / node / platform_.library.reduce_network;
}

// A ring goes through all devices of one node after the other. There are as many rings as a node
// has devices, and one ring leaves the node at each device. In a mesh the rings take different
// paths, so that they use all links. With a switch all paths use the device's one port.
void CostModel::add_ring_traffic(std::map<int, double>& load, double bytes,
                                 const TrafficShares& shares, Issuer issuer) const {
  const int node = platform_.node_devices, first = issuer.device / node * node;
  const int beyond = (issuer.device + node) % platform_.devices;
  const double leaving = bytes / node;
  add_traffic(load, {beyond, MemoryKind::device}, leaving, false, shares, issuer);
  const int ways = platform_.link.topology == Topology::mesh ? node - 1 : std::min(1, node - 1);
  for (int step = 1; step <= ways; ++step) {
    const int next = first + (issuer.device + step) % node;
    add_traffic(load, {next, MemoryKind::device}, (bytes - leaving) / ways, false, shares, issuer);
  }
}

// The number of consecutive steps between nodes. `ways` is 1 for a tree that is gone through up or
// down, 2 for both.
double CostModel::steps(NodeAlgorithm node_algorithm, int ways) const {
  if (platform_.nodes == 1 || node_algorithm == NodeAlgorithm::direct) return 0;
  if (node_algorithm == NodeAlgorithm::ring) return platform_.devices - 1;
  return ways * std::ceil(std::log2(platform_.nodes));
}

// A library's rate rises with the bytes that it moves, from half of its limit to all of it
// (LibraryModel::ramp_bytes).
CostModel::TrafficShares CostModel::traffic_shares(const KernelLocations& locations,
                                                   Issuer issuer) const {
  TrafficShares shares;
  shares.adds = locations.adds;
  shares.link = locations.link_share;
  shares.memory = locations.memory;
  share_across_nodes(shares, locations);
  if (locations.ramp_bytes <= 0) return shares;
  double wire = 0;
  for (const KernelLocations::Item& item : locations.items) {
    for (const auto* side : {&item.sources, &item.destinations}) {
      for (const MemoryLocation& location : *side) {
        if (location.device != issuer.device) wire += item.bytes;
      }
    }
  }
  shares.link /= 1 + locations.ramp_bytes / (locations.ramp_bytes + wire);
  return shares;
}

// The unit of progress is a byte that is copied, which means one byte read and one written. Each
// block is assumed to occupy one unit.
OperationCost CostModel::kernel(const KernelLocations& locations, Issuer issuer) const {
  const TrafficShares shares = traffic_shares(locations, issuer);
  std::map<int, double> load;  // of all items, by resource
  double bytes = 0;
  double ring_bytes = 0;
  bool pulls = false, pushes = false;
  const auto add = [&](const std::vector<MemoryLocation>& spans, double each, bool reads) {
    for (const MemoryLocation& location : spans) {
      const bool is_peer = location.device != issuer.device;
      if (is_peer && shares.ring) {
        ring_bytes += each;
      } else {
        add_traffic(load, location, each, reads, shares, issuer);
      }
      (reads ? pulls : pushes) |= is_peer;
      bytes += each;
    }
  };
  for (const KernelLocations::Item& item : locations.items) {
    add(item.sources, item.bytes, true);
    add(item.destinations, item.bytes, false);
  }
  if (ring_bytes > 0) add_ring_traffic(load, ring_bytes, shares, issuer);
  OperationCost cost;
  cost.latency = platform_.device.kernel.launch + locations.latency;
  if (pulls || pushes) cost.latency += platform_.link.latency;
  cost.latency += steps(locations.node_algorithm, pulls + pushes) * platform_.library.step_latency;
  cost.flow.amount = bytes / 2;
  cost.flow.priority = issuer.priority;
  if (bytes <= 0) return cost;
  const int blocks = locations.blocks > 0 ? locations.blocks : kDefaultBlocks;
  const double units = std::min(blocks, platform_.device.compute_units);
  const KernelModel& kernel = platform_.device.kernel;
  cost.flow.occupancy.resource = of(issuer.device).units;
  cost.flow.occupancy.units = units;
  cost.flow.occupancy.unit_rate =
      locations.unit_copy_rate > 0 ? locations.unit_copy_rate : kernel.unit_copy_rate;
  cost.flow.load = {of(issuer.device).memory, kernel.load_slope, true};
  cost.flow.throttle = throttle(issuer);
  for (const auto& [resource, amount] : load) {
    cost.flow.uses.push_back({resource, amount / cost.flow.amount});
  }
  return cost;
}

}  // namespace duet::sim
