#include "device/sim/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace duet::sim {
namespace {

// A copy by one warp per SM takes no units. Its rate is limited to this share of the rate of all
// units; fitted to H200, where 132 warps beside a GEMM copy 300 GB/s.
constexpr double kOneWarpShare = 0.1;

bool is_peer_copy(MemoryLocation source, MemoryLocation destination) {
  return source.kind == MemoryKind::device && destination.kind == MemoryKind::device &&
         source.device != destination.device;
}

bool touches_host(MemoryLocation source, MemoryLocation destination) {
  return source.kind != MemoryKind::device || destination.kind != MemoryKind::device;
}

bool touches_pageable(MemoryLocation source, MemoryLocation destination) {
  return source.kind == MemoryKind::pageable || destination.kind == MemoryKind::pageable;
}

void require(bool holds, const Task& task, const char* expected) {
  if (!holds) throw BadArgument(fmt::format("task '{}': expected {}", task.name, expected));
}

}  // namespace

CostModel::CostModel(const Platform& platform, VirtualClock& clock) : platform_(platform) {
  const DeviceModel& device = platform.device;
  const bool mesh = platform.link.topology == Topology::mesh;
  for (int i = 0; i < platform.devices; ++i) {
    Resources resources{};
    resources.units = clock.add_resource(device.compute_units);
    resources.memory = clock.add_resource(device.memory_rate * device.memory_efficiency);
    resources.power = clock.add_resource(device.power.watts);
    resources.host_in = clock.add_resource(1);
    resources.host_out = clock.add_resource(1);
    resources.port_in = mesh ? -1 : clock.add_resource(1);
    resources.port_out = mesh ? -1 : clock.add_resource(1);
    resources.network_in = clock.add_resource(1);
    resources.network_out = clock.add_resource(1);
    for (int rail = 0; platform.nodes > 1 && rail < platform.network.rails; ++rail) {
      resources.rails_in.push_back(clock.add_resource(1));
      resources.rails_out.push_back(clock.add_resource(1));
    }
    devices_.push_back(resources);
  }
  const int links = mesh ? platform.devices * platform.node_devices : 0;
  for (int i = 0; i < links; ++i) links_.push_back(clock.add_resource(1));
}

// A copy that is split over all rails uses the resource of all rails together. A copy on one rail
// uses also that rail's own resource, so that both kinds of copy share fairly.
void CostModel::add_link(std::vector<ResourceUse>& uses, int from, int to, double rate,
                         int rail) const {
  if (!same_node(from, to)) {
    const NetworkModel& network = platform_.network;
    const double seconds = 1 / (network.rail_rate * network.efficiency);
    uses.push_back({of(from).network_out, seconds / network.rails});
    uses.push_back({of(to).network_in, seconds / network.rails});
    if (rail < 0) return;
    uses.push_back({of(from).rails_out[static_cast<std::size_t>(rail)], seconds});
    uses.push_back({of(to).rails_in[static_cast<std::size_t>(rail)], seconds});
  } else if (platform_.link.topology == Topology::mesh) {
    const int link = from * platform_.node_devices + to % platform_.node_devices;
    uses.push_back({links_[static_cast<std::size_t>(link)], 1 / rate});
  } else {
    uses.push_back({of(from).port_out, 1 / rate});
    uses.push_back({of(to).port_in, 1 / rate});
  }
}

double CostModel::link_latency(int from, int to) const {
  return same_node(from, to) ? platform_.link.latency : platform_.network.latency;
}

// Half of the energy of a byte is drawn at each end.
void CostModel::add_power(std::vector<ResourceUse>& uses, int from, int to, double joules) const {
  if (joules <= 0) return;
  uses.push_back({of(from).power, joules / 2});
  uses.push_back({of(to).power, joules / 2});
}

PowerThrottle CostModel::throttle(Issuer issuer) const {
  const PowerModel& power = platform_.device.power;
  return {power.gemm_frequency < 1 ? of(issuer.device).power : -1, power.gemm_frequency};
}

std::vector<ResourceUse> CostModel::path(const Copy& copy, MemoryLocation source,
                                         MemoryLocation destination, Issuer issuer) const {
  const LinkModel& link = platform_.link;
  const HostModel& host = platform_.host;
  const bool from_device = source.kind == MemoryKind::device;
  const bool to_device = destination.kind == MemoryKind::device;
  std::vector<ResourceUse> uses;
  if (from_device && to_device && source.device == destination.device) {
    uses.push_back({of(source.device).memory, 2});  // read and written
    return uses;
  }
  if (from_device) uses.push_back({of(source.device).memory, 1});
  if (to_device) uses.push_back({of(destination.device).memory, 1});
  if (is_peer_copy(source, destination) && copy.executor != Executor::host) {
    const bool push = issuer.device == source.device;
    const double by_engine = push ? link.dma_push_rate : link.dma_pull_rate;
    const double by_kernel = push ? link.kernel_push_rate : link.kernel_pull_rate;
    add_link(uses, source.device, destination.device,
             copy.executor == Executor::dma ? by_engine : by_kernel, issuer.rail);
    const PowerModel& power = platform_.device.power;
    add_power(uses, source.device, destination.device,
              copy.executor == Executor::dma ? power.dma_joules : power.kernel_joules);
    return uses;
  }
  // Over the host links. The CPU executor moves also peer copies through host memory.
  if (from_device) uses.push_back({of(source.device).host_out, 1 / host.pinned_rate});
  if (to_device) uses.push_back({of(destination.device).host_in, 1 / host.pinned_rate});
  return uses;
}

Occupancy CostModel::copy_units(const KernelShape& shape, bool to_peer, double unit_rate,
                                Issuer issuer) const {
  const KernelModel& kernel = platform_.device.kernel;
  const double all = platform_.device.compute_units;
  const double default_grid = to_peer ? kernel.copy_grid : all;
  const double grid = shape.grid > 0 ? shape.grid : default_grid;
  const double block = shape.block > 0 ? shape.block : kernel.copy_block;
  const double units = std::min(grid, all);
  const double threads = block * grid / units;  // on each of them
  const double share = std::min(1.0, threads / kernel.unit_threads);
  Occupancy occupancy;
  occupancy.resource = of(issuer.device).units;
  occupancy.units = units;
  occupancy.unit_rate = unit_rate * share;
  return occupancy;
}

double CostModel::unit_rate(MemoryLocation source, MemoryLocation destination) const {
  const bool local = !touches_host(source, destination) && source.device == destination.device;
  const KernelModel& kernel = platform_.device.kernel;
  return local ? kernel.unit_local_rate : kernel.unit_copy_rate;
}

OperationCost CostModel::copy(const Copy& copy, MemoryLocation source, MemoryLocation destination,
                              Issuer issuer) const {
  if (copy.executor == Executor::kernel && touches_pageable(source, destination)) {
    throw BadArgument("a copy by kernel: kernels cannot access pageable memory");
  }
  if (copy.shape.grid < 0 || copy.shape.block < 0) {
    throw BadArgument("a copy's grid and block: expected numbers from 0");
  }
  const HostModel& host = platform_.host;
  OperationCost cost;
  cost.flow.amount = static_cast<double>(copy.source.bytes);
  cost.flow.priority = issuer.priority;
  cost.flow.uses = path(copy, source, destination, issuer);
  cost.flow.load = {of(issuer.device).memory, 0, true};
  if (is_peer_copy(source, destination)) {
    cost.latency += link_latency(source.device, destination.device);
  }
  if (touches_host(source, destination)) cost.latency += host.link_latency;
  // NICs access device memory without a DMA engine.
  const bool by_nics =
      !same_node(source.device, destination.device) && !touches_host(source, destination);
  switch (copy.executor) {
    case Executor::sdma:
      refuse_sdma();
    case Executor::dma:
      cost.latency += platform_.device.dma.latency;
      if (by_nics) break;
      cost.flow.cap = platform_.device.dma.engine_rate;
      cost.flow.load.slope = platform_.device.dma.load_slope;
      cost.takes_engine = true;
      break;
    case Executor::kernel:
      cost.latency += platform_.device.kernel.launch;
      cost.flow.load.slope = platform_.device.kernel.load_slope;
      if (copy.shape.one_warp_per_sm) {
        cost.flow.cap =
            kOneWarpShare * platform_.device.kernel.unit_copy_rate * platform_.device.compute_units;
      } else {
        cost.flow.occupancy = copy_units(copy.shape, is_peer_copy(source, destination),
                                         unit_rate(source, destination), issuer);
      }
      break;
    case Executor::host:
      cost.latency += host.copy_latency;
      cost.flow.cap = host.copy_rate;
      break;
  }
  if (touches_pageable(source, destination) && copy.executor == Executor::dma) {
    cost.latency += host.copy_latency;  // the CPU stages the data
    cost.flow.cap = std::min(cost.flow.cap, host.pageable_rate);
  }
  return cost;
}

OperationCost CostModel::fill(double bytes, MemoryLocation location, Issuer issuer) const {
  OperationCost cost;
  cost.flow.amount = bytes;
  cost.flow.priority = issuer.priority;
  if (location.kind == MemoryKind::pageable) {
    cost.latency = platform_.host.copy_latency;
    cost.flow.cap = platform_.host.copy_rate;
    return cost;
  }
  cost.latency = platform_.device.kernel.launch;
  cost.flow.occupancy = copy_units({}, false, platform_.device.kernel.unit_copy_rate, issuer);
  cost.flow.load = {of(issuer.device).memory, platform_.device.kernel.load_slope, true};
  if (location.kind == MemoryKind::pinned) {
    cost.flow.uses.push_back({of(issuer.device).host_out, 1 / platform_.host.pinned_rate});
  } else {
    cost.flow.uses.push_back({of(location.device).memory, 1});
    if (location.device != issuer.device) {
      add_link(cost.flow.uses, issuer.device, location.device, platform_.link.kernel_push_rate);
    }
  }
  return cost;
}

// The unit of progress is the workgroup, or the whole task if it has none. A unit takes as long for
// a workgroup as the slower of its FLOP and its memory traffic. All workgroups share the device's
// memory.
OperationCost CostModel::task(const Task& task, Issuer issuer) const {
  const Demand& demand = task.demand;
  const DeviceModel& device = platform_.device;
  const auto sane = [](double value) { return std::isfinite(value) && value >= 0; };
  require(sane(demand.flop), task, "a finite number of FLOP from 0");
  require(sane(demand.memory_bytes), task, "a finite number of memory bytes from 0");
  require(sane(demand.workgroups), task, "a finite number of workgroups from 0");
  require(demand.efficiency > 0 && demand.efficiency <= 1, task,
          "an efficiency above 0 and at most 1");

  OperationCost cost;
  cost.latency = device.kernel.launch;
  double seconds = 0;  // that one unit would take for all FLOP
  if (demand.flop > 0) {
    const auto peak = device.peak.find(demand.dtype);
    if (peak == device.peak.end()) {
      throw Unavailable(fmt::format("task '{}': {} has no rate for {}", task.name, device.model,
                                    name(demand.dtype)));
    }
    seconds = demand.flop * device.compute_units / (peak->second * demand.efficiency);
  }
  if (seconds <= 0 && demand.memory_bytes <= 0) return cost;

  const double pieces = demand.workgroups > 0 ? demand.workgroups : 1;
  const double all = device.compute_units;
  cost.flow.amount = pieces;
  cost.flow.priority = issuer.priority;
  cost.flow.uses.push_back({of(issuer.device).memory, demand.memory_bytes / pieces});
  // With this weight memory is shared by bytes, the unit in which copies progress.
  if (demand.memory_bytes > 0) cost.flow.weight = pieces / demand.memory_bytes;
  cost.flow.load = {of(issuer.device).memory, device.gemm.load_slope, false};
  cost.flow.throttle = throttle(issuer);
  Occupancy& occupancy = cost.flow.occupancy;
  occupancy.resource = of(issuer.device).units;
  occupancy.units = demand.workgroups > 0 ? std::min(all, demand.workgroups) : all;
  occupancy.unit_rate = seconds > 0 ? pieces / seconds : std::numeric_limits<double>::infinity();
  occupancy.workgroups = demand.workgroups;
  occupancy.unit_draw = device.unit_memory_rate;
  if (demand.workgroups > 0 && device.gemm.uncrowded_units < device.compute_units) {
    occupancy.uncrowded_units = device.gemm.uncrowded_units;
    occupancy.crowding = device.gemm.crowding;
  }
  return cost;
}

double CostModel::signal_latency(MemoryLocation word, Issuer issuer) const {
  const double device = platform_.device.signal_latency;
  if (word.kind != MemoryKind::device) return device + platform_.host.link_latency;
  return word.device == issuer.device ? device : device + link_latency(issuer.device, word.device);
}

}  // namespace duet::sim
