#pragma once

#include <string>

namespace duet {

// How ranks of different nodes reach each other.
struct NetworkOptions {
  // Of libfabric. "": memory where all ranks can map each other's, else tcp;ofi_rxm.
  std::string provider;
  // Names or addresses, a number, or "all"; of the whole node, whose ranks share them (fabric.md).
  std::string rails = "all";
  double stall_seconds = 10;  // a rail on which nothing ends for so long is lost
  double link_gbit = 0;  // of one rail, one direction; 0: what the provider or interface reports
  // What a lost rail had under way goes over the rank's other rails; false: the call fails.
  bool failover = false;
  // Through pinned buffers also where the rails reach the device's memory.
  bool staged = false;
};

}  // namespace duet
