#pragma once

#include <memory>

#include "collectives/peer/watchdog.h"
#include "halo/engine.h"

namespace duet {

// The plan of devices whose sweep exchanges by itself (SweepKernel): the kernel's blocks store
// boundary rows here and in the neighbours' halos, and only they wait for neighbours. nullptr where
// devices have no such kernel; the same on all ranks. Collective, inside Team::each().
std::unique_ptr<HaloPlan> fused_plan(Rank& rank, const HaloTask& task, Watchdog& watchdog);

}  // namespace duet
