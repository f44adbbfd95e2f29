#include "results/host_facts.h"

#include <hwloc.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

#include "core/units.h"

namespace duet {
namespace {

// The text after `separator` in the first line that begins with `key`.
std::string value_in(const char* path, const std::string& key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(separator);
    if (line.compare(0, key.size(), key) != 0 || at == std::string::npos) continue;
    std::string value = trim(line.substr(at + 1));
    if (value.size() > 1 && value.front() == '"') value = value.substr(1, value.size() - 2);
    return value;
  }
  return "";
}

int count(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const int found = hwloc_get_nbobjs_by_type(topology, type);
  return found > 0 ? found : 0;
}

std::vector<NumaNode> numa_nodes(hwloc_topology_t topology) {
  std::vector<NumaNode> nodes;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    const int cores =
        hwloc_get_nbobjs_inside_cpuset_by_type(topology, node->cpuset, HWLOC_OBJ_CORE);
    nodes.push_back({static_cast<int>(node->os_index), cores > 0 ? cores : 0});
  }
  return nodes;
}

void read_topology(HostFacts& facts) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return;
  if (hwloc_topology_load(topology) == 0) {
    facts.sockets = count(topology, HWLOC_OBJ_PACKAGE);
    facts.cores = count(topology, HWLOC_OBJ_CORE);
    facts.threads = count(topology, HWLOC_OBJ_PU);
    facts.numa = numa_nodes(topology);
  }
  hwloc_topology_destroy(topology);
}

}  // namespace

HostFacts host_facts() {
  HostFacts facts;
  utsname names{};
  if (uname(&names) == 0) {
    facts.host_name = names.nodename;
    facts.kernel = std::string(names.sysname) + " " + names.release;
  }
  facts.system = value_in("/etc/os-release", "PRETTY_NAME", '=');
  facts.cpu_model = value_in("/proc/cpuinfo", "model name", ':');
  read_topology(facts);
  // Not hwloc's sum over NUMA nodes: that misses memory that was plugged in later.
  facts.memory_bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return facts;
}

}  // namespace duet
