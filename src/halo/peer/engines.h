// Engines that write into the neighbours' memory: by copy engines ("dma"), and by the compute units
// that sweep ("kernel").
#pragma once

#include <memory>

#include "collectives/session/watchdog.h"
#include "halo/engine.h"

namespace duet {

std::unique_ptr<HaloEngine> make_dma_halo();
std::unique_ptr<HaloEngine> make_kernel_halo();

// Sweeps whose own blocks take part in the exchange: one launch per iteration. The boundary rows
// have the first blocks, so they are on their way while the interior is computed.

// The blocks of the boundary rows store them in the neighbours' halos as well, and signal.
// Collective, inside Team::each(). nullptr, on all ranks, where devices have no such kernel.
std::unique_ptr<HaloPlan> fused_plan(Rank& rank, const HaloTask& task, Watchdog& watchdog);

// Copy engines push the rows:
//
//   caller's stream                    lane of a side
//   sweep of all rows, boundary first
//     waits: neighbour's row is here
//     signal: own row is ready ------> wait, push the row
//     ...                              signal the neighbour: the row is there
//   sweep of all rows ...              ...
//
// The lanes fork before a sample's first sweep and join behind its last one; then the caller's
// stream waits until both neighbours' rows are here. Collective, inside Team::each(). nullptr, on
// all ranks, on devices that are no NVIDIA GPUs, and for a grid of one rank whose boundary rows
// have too many blocks.
std::unique_ptr<HaloPlan> fused_copies_plan(Rank& rank, const HaloTask& task, Watchdog& watchdog);

}  // namespace duet
