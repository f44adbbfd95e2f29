#pragma once

#include <string>
#include <vector>

#include "collectives/nccl/library.h"

namespace duet::nccl {

// For tests: a library that moves no data and records its calls.

// The calls to the fake library since reset(). The library guards them with its own lock.
struct FakeCalls {
  std::vector<std::string> calls;    // "all_gather(0x10, 0x20, 4, type 7)", in order
  std::vector<std::string> windows;  // "rank 0: 64 bytes", in order
  std::vector<int> sizes;            // ranks of each communicator that was made, by each rank
  int comms = 0, destroyed = 0, aborted = 0;
  int allocations = 0, windows_open = 0;  // made and not yet freed
  bool failing = false;                   // collectives return an error
  int max_ctas = 0, cta_policy = 0;       // from the last configuration
};

FakeCalls fake_calls();
void reset(bool failing = false);

// The fake library with all functions. `version` is in the form of ncclGetVersion.
Library fake_library(int version = 22809);

}  // namespace duet::nccl
