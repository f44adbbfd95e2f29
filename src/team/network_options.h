#pragma once

#include <string>

namespace duet {

// How ranks of different nodes reach each other.
struct NetworkOptions {
  // libfabric's provider. "": copies if all ranks can map each other's memory, else tcp;ofi_rxm.
  std::string provider;
  // Names or addresses, a number, or "all"; of the whole node, whose ranks share them (fabric.md).
  std::string rails = "all";
  double stall_seconds = 10;  // a rail without a completion for this time is lost
  double link_gbit = 0;  // of one rail, one direction; 0: what the provider or interface reports
  // Messages of a lost rail are sent over the rank's other rails; false: the call fails.
  bool failover = false;
  // Data are staged in pinned buffers even if the rails can access device memory.
  bool staged = false;
};

}  // namespace duet
