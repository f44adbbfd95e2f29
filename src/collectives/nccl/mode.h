#pragma once

#include <string>
#include <vector>

#include "collectives/nccl/library.h"

namespace duet::nccl {

// A configuration of NCCL. Each is an engine.
struct Mode {
  std::string suffix;     // appended to the engine's name
  std::string words;      // description for the journal
  bool windows = false;   // buffers are memory of ncclMemAlloc, registered as symmetric windows
  bool zero_cta = false;  // NCCL uses copy engines instead of kernels where it can
  int max_ctas = 0;       // most thread blocks of a kernel; 0: the library chooses
  bool chunks = false;    // behind the drop-in, whose kernel of chunks makes the calls
};

// All modes; the first has the library's defaults. No mode tunes NCCL further, so results are what
// a framework's user gets.
std::vector<Mode> modes();

// Of NCCL behind Duet's drop-in.
Mode drop_in_mode();
Mode drop_in_kernel_mode();

// The same mode with at most `ctas` thread blocks per kernel.
Mode capped(const Mode& mode, int ctas);

// The reason why the library cannot run the mode; "" if it can.
std::string missing(const Library& library, const Mode& mode);

}  // namespace duet::nccl
