// A library that moves nothing and writes down what it is asked, for tests.
#pragma once

#include <string>
#include <vector>

#include "collectives/nccl/library.h"

namespace duet::nccl {

// What the fake library has been asked since reset(); guarded by its own lock while ranks run.
struct Asked {
  std::vector<std::string> calls;    // "all_gather(0x10, 0x20, 4, type 7)", in order
  std::vector<std::string> windows;  // "rank 0: 64 bytes", in order
  int comms = 0, destroyed = 0, aborted = 0;
  int allocations = 0, windows_open = 0;  // that still live
  bool failing = false;                   // collectives return an error
  int max_ctas = 0, cta_policy = 0;       // of the last configuration
};

Asked asked();
void reset(bool failing = false);

// All functions, of the given version.
Library fake_library(int version = 22809);

}  // namespace duet::nccl
