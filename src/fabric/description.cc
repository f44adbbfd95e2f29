#include "fabric/description.h"

#include <hwloc.h>

#include <fstream>

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

}  // namespace duet
