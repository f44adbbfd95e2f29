#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace duet {

struct NumaNode {
  int index = 0;
  int cores = 0;
};

struct HostFacts {
  std::string host_name;
  std::string system;  // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;  // "Linux 6.1.0"
  std::string cpu_model;
  int sockets = 0;
  int cores = 0;
  int threads = 0;  // hardware threads that this process may use
  std::uint64_t memory_bytes = 0;
  std::vector<NumaNode> numa;
};

// Asks hwloc, uname and /proc. What they do not state stays empty or 0.
HostFacts host_facts();

}  // namespace duet
