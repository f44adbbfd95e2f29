#pragma once

#include <memory>

#include "halo/sweep.h"

namespace duet {

// Sweeps as tasks: by the CPU's threads on host devices; on simulated ones in virtual time, with
// the values where fields have contents. A row has one partial sum.
std::unique_ptr<Sweeper> make_cpu_sweeper(Device& device);

}  // namespace duet
