// What a kernel costs: one flow through everything that it touches, each by its share.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "device/sim/costs.h"

namespace duet::sim {
namespace {

constexpr int kDefaultBlocks = 16;  // as on a GPU

}  // namespace

double CostModel::write(Place word, Issuer issuer) const {
  if (word.kind != MemoryKind::device) return platform_.host.link_latency;
  return word.device == issuer.device ? 0 : link_latency(issuer.device, word.device);
}

double CostModel::arrive(const KernelPlaces& places, Issuer issuer) const {
  double latency = 0;
  for (const Place& word : places.arrivals) latency = std::max(latency, write(word, issuer));
  return latency;
}

Charge CostModel::item(const KernelPlaces& places, std::size_t item, Issuer issuer) const {
  KernelPlaces alone;
  alone.items = {places.items[item]};
  alone.blocks = places.blocks;
  Charge charge = kernel(alone, issuer);
  charge.resident = item > 0;
  if (item > 0) charge.latency -= platform_.device.kernel.launch;
  return charge;
}

void CostModel::add_traffic(std::map<int, double>& load, Place place, double bytes, bool reads,
                            const Shares& shares, Issuer issuer) const {
  if (place.kind == MemoryKind::pageable) {
    throw BadArgument("kernel: pageable memory is out of a kernel's reach");
  }
  if (place.kind == MemoryKind::pinned) {
    const Resources& own = of(issuer.device);
    load[reads ? own.host_in : own.host_out] += bytes / platform_.host.pinned_rate;
    return;
  }
  load[of(place.device).memory] += bytes * shares.memory;
  if (place.device == issuer.device) return;
  std::vector<ResourceUse> link;
  if (reads) {
    add_link(link, place.device, issuer.device, shares.link * platform_.link.kernel_pull_rate);
  } else {
    add_link(link, issuer.device, place.device, shares.link * platform_.link.kernel_push_rate);
  }
  add_power(link, place.device, issuer.device, platform_.device.power.kernel_joules);
  const double share = same_node(place.device, issuer.device) ? shares.inside : shares.beyond;
  for (const ResourceUse& use : link) load[use.resource] += use.amount * bytes * share;
}

// By trees the devices of a node reduce first, and each crosses with its part. There are two trees,
// so that who has two nodes below it in one has none in the other: each node sends all bytes once
// on the way up, half of them in each tree, and once on the way down, half of them to each of the
// two below it. Of two nodes each sends half as much.
void CostModel::cross_nodes(Shares& shares, const KernelPlaces& places) const {
  if (platform_.nodes == 1) return;
  shares.ring = places.between == Between::ring;
  shares.beyond = 1 / places.network_share;
  if (places.between != Between::tree) return;
  const double nodes = platform_.nodes, node = platform_.node_devices;
  shares.inside = platform_.library.reduce_links * nodes;
  shares.beyond = (nodes > 2 ? nodes / (nodes - 1) : 1) / node / platform_.library.reduce_network;
}

// A ring goes through all devices of a node after the other, and as many rings at a time as those
// are: one of them leaves the node behind each device. In a mesh each goes another way, so that
// they use all links; to a switch all ways are one.
void CostModel::pass_on(std::map<int, double>& load, double bytes, const Shares& shares,
                        Issuer issuer) const {
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

// Of a tree: up, down, or both.
double CostModel::steps(Between between, int ways) const {
  if (platform_.nodes == 1 || between == Between::direct) return 0;
  if (between == Between::ring) return platform_.devices - 1;
  return ways * std::ceil(std::log2(platform_.nodes));
}

// A library's rate rises with what it moves: from half of the limit to all of it.
CostModel::Shares CostModel::shares_of(const KernelPlaces& places, Issuer issuer) const {
  Shares shares;
  shares.link = places.link_share;
  shares.memory = places.memory;
  cross_nodes(shares, places);
  if (places.ramp_bytes <= 0) return shares;
  double wire = 0;
  for (const KernelPlaces::Item& item : places.items) {
    for (const auto* side : {&item.sources, &item.destinations}) {
      for (const Place& place : *side) {
        if (place.device != issuer.device) wire += item.bytes;
      }
    }
  }
  shares.link /= 1 + places.ramp_bytes / (places.ramp_bytes + wire);
  return shares;
}

// Progress is counted in bytes that a unit copies: it reads and writes each. A block is taken to be
// what a unit wants.
Charge CostModel::kernel(const KernelPlaces& places, Issuer issuer) const {
  const Shares shares = shares_of(places, issuer);
  std::map<int, double> load;  // of the whole, by resource
  double bytes = 0;
  double passed_on = 0;
  bool pulls = false, pushes = false;
  const auto add = [&](const std::vector<Place>& spans, double each, bool reads) {
    for (const Place& place : spans) {
      const bool is_peer = place.device != issuer.device;
      if (is_peer && shares.ring) {
        passed_on += each;
      } else {
        add_traffic(load, place, each, reads, shares, issuer);
      }
      (reads ? pulls : pushes) |= is_peer;
      bytes += each;
    }
  };
  for (const KernelPlaces::Item& item : places.items) {
    add(item.sources, item.bytes, true);
    add(item.destinations, item.bytes, false);
  }
  if (passed_on > 0) pass_on(load, passed_on, shares, issuer);
  Charge charge;
  charge.latency = platform_.device.kernel.launch + places.latency;
  if (pulls || pushes) charge.latency += platform_.link.latency;
  charge.latency += steps(places.between, pulls + pushes) * platform_.library.step_latency;
  charge.flow.amount = bytes / 2;
  charge.flow.priority = issuer.priority;
  if (bytes <= 0) return charge;
  const int blocks = places.blocks > 0 ? places.blocks : kDefaultBlocks;
  const double units = std::min(blocks, platform_.device.compute_units);
  const KernelModel& kernel = platform_.device.kernel;
  charge.flow.occupancy.resource = of(issuer.device).units;
  charge.flow.occupancy.units = units;
  charge.flow.occupancy.unit_rate =
      places.unit_copy_rate > 0 ? places.unit_copy_rate : kernel.unit_copy_rate;
  charge.flow.load = {of(issuer.device).memory, kernel.load_slope, true};
  charge.flow.throttle = throttle(issuer);
  for (const auto& [resource, amount] : load) {
    charge.flow.uses.push_back({resource, amount / charge.flow.amount});
  }
  return charge;
}

}  // namespace duet::sim
