#include "fabric/selection.h"

#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <fstream>
#include <sstream>
#include <utility>

#include "core/error.h"
#include "core/units.h"
#include "fabric/rail_set.h"

namespace duet {
namespace {

double interface_gbit_per_s(const std::string& interface) {
  std::ifstream file("/sys/class/net/" + interface + "/speed");
  double mbit = 0;
  return file >> mbit && mbit > 0 ? mbit / 1e3 : 0;
}

// Network interfaces and RDMA devices are devices of the system's to hwloc; null: not there.
hwloc_obj_t nic_called(hwloc_topology_t topology, const std::string& name) {
  for (hwloc_obj_t each = nullptr; (each = hwloc_get_next_osdev(topology, each)) != nullptr;) {
    if (each->name != nullptr && name == each->name) return each;
  }
  return nullptr;
}

int numa_node_of(hwloc_topology_t topology, hwloc_obj_t nic) {
  const hwloc_obj_t parent = hwloc_get_non_io_ancestor_obj(topology, nic);
  const bool one = parent != nullptr && hwloc_bitmap_weight(parent->nodeset) == 1;
  return one ? hwloc_bitmap_first(parent->nodeset) : -1;
}

// Links up from the one and down to the other: 2 behind the same switch.
int hops_between(hwloc_obj_t nic, hwloc_obj_t device) {
  int up = 0;
  for (hwloc_obj_t one = nic; one != nullptr; one = one->parent, ++up) {
    int down = 0;
    for (hwloc_obj_t other = device; other != nullptr; other = other->parent, ++down) {
      if (one == other) return up + down;
    }
  }
  return -1;
}

// hwloc names a device of the system's below the PCI device that it is.
hwloc_obj_t pci_device_of(hwloc_obj_t nic) {
  while (nic != nullptr && nic->type == HWLOC_OBJ_OS_DEVICE) nic = nic->parent;
  return nic;
}

void describe(hwloc_topology_t topology, const std::string& bus, RailInfo& rail) {
  const hwloc_obj_t nic = nic_called(topology, rail.name);
  if (nic == nullptr) return;
  rail.numa_node = numa_node_of(topology, nic);
  const hwloc_obj_t device =
      bus.empty() ? nullptr : hwloc_get_pcidev_by_busidstring(topology, bus.c_str());
  if (device != nullptr) rail.pci_hops = hops_between(pci_device_of(nic), device);
}

// By NUMA node, then by PCIe hops to the device.
std::pair<int, int> distance(const RailInfo& rail, int numa_node) {
  constexpr const char* kLoopback = "lo";
  const int hops = rail.pci_hops < 0 ? INT_MAX : rail.pci_hops;
  if (rail.name == kLoopback) return {3, hops};
  if (rail.numa_node < 0 || numa_node < 0) return {1, hops};
  return {rail.numa_node == numa_node ? 0 : 2, hops};
}

std::string list(const std::vector<RailInfo>& rails) {
  std::string text;
  for (const RailInfo& rail : rails) text += (text.empty() ? "" : ", ") + rail_name(rail);
  return text;
}

std::vector<RailInfo> first(std::vector<RailInfo> there, std::size_t count) {
  if (count == 0 || count > there.size()) {
    throw UsageError(
        fmt::format("--rails {}: expected 1 to {} of {}", count, there.size(), list(there)));
  }
  there.resize(count);
  return there;
}

std::vector<RailInfo> named(const std::vector<RailInfo>& there, const std::string& wanted) {
  std::vector<RailInfo> chosen;
  std::istringstream words(wanted + ',');  // so that a comma ends every name
  for (std::string word; std::getline(words, word, ',');) {
    word = trim(word);
    const auto fits = [&](const RailInfo& rail) {
      return rail.name == word || rail.address == word;
    };
    const auto found = std::find_if(there.begin(), there.end(), fits);
    if (found == there.end()) {
      throw UsageError(fmt::format(
          "--rails: there is no '{}': expected a number, all or some of {}", word, list(there)));
    }
    if (std::any_of(chosen.begin(), chosen.end(),
                    [&](const RailInfo& rail) { return rail_name(rail) == rail_name(*found); })) {
      throw UsageError(fmt::format("--rails: {} is given twice: expected different rails", word));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

}  // namespace

void describe_rails(std::vector<RailInfo>& rails, const std::string& bus) {
  for (RailInfo& rail : rails) {
    if (rail.gbit_per_s <= 0) rail.gbit_per_s = interface_gbit_per_s(rail.name);
  }
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return;
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(topology) == 0) {
    for (RailInfo& rail : rails) describe(topology, bus, rail);
  }
  hwloc_topology_destroy(topology);
}

std::vector<RailInfo> select_rails(std::vector<RailInfo> there, const std::string& wanted,
                                   int numa_node) {
  std::stable_sort(there.begin(), there.end(), [&](const RailInfo& a, const RailInfo& b) {
    return distance(a, numa_node) < distance(b, numa_node);
  });
  if (wanted.empty()) return first(std::move(there), 1);
  if (wanted == "all") {
    if (there.size() > 1 && there.back().name == "lo") there.pop_back();
    return there;
  }
  std::size_t count = 0;
  const char* end = wanted.data() + wanted.size();
  const auto [rest, error] = std::from_chars(wanted.data(), end, count);
  if (error == std::errc() && rest == end) return first(std::move(there), count);
  return named(there, wanted);
}

std::vector<RailInfo> share_rails(const std::vector<RailInfo>& rails, int local, int locals) {
  const auto all = static_cast<int>(rails.size());
  if (all == 0 || local < 0 || local >= locals) {
    throw BadArgument(
        fmt::format("rank {} of {} on its node: expected a rail to share", local, locals));
  }
  const int each = std::max(1, all / locals);
  const auto first = rails.begin() + local * each % all;
  return {first, first + each};
}

}  // namespace duet
