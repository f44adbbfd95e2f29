// The ways in which NCCL is run: each is an engine.
#pragma once

#include <string>
#include <vector>

#include "collectives/nccl/library.h"

namespace duet::nccl {

struct Mode {
  std::string suffix;     // of the engine's name
  std::string words;      // for the journal
  bool windows = false;   // buffers of the library's own memory, registered as symmetric windows
  bool zero_cta = false;  // copy engines instead of kernels where the library can
  int max_ctas = 0;       // thread blocks that a kernel may have; 0: the library chooses
};

// The library's defaults first. Nothing is tuned: what a framework's user gets.
std::vector<Mode> modes();

// The same, with kernels of at most so many thread blocks.
Mode capped(const Mode& mode, int ctas);

// What the library lacks for the mode, in words; "" if nothing.
std::string missing(const Library& library, const Mode& mode);

}  // namespace duet::nccl
