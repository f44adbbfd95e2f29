// Launch functions of the kernels. They do not check their arguments; the caller does.
#pragma once

#include <cstdint>

#include "device/gpu/vendor.h"
#include "device/stream.h"
#include "halo/gpu/sweep_exchange.h"
#include "halo/gpu/tiles.h"

namespace duet::DUET_GPU {

using gpu::SumsOfCall;
using gpu::SweepExchange;
using gpu::SweepNorm;

void launch_sweep(const SweepTiles& tiles, Stream& stream);
// `tiles` has the interior alone.
void launch_exchange(const SweepTiles& tiles, const SweepExchange& exchange, const SweepNorm& norm,
                     Stream& stream);
void launch_sum(const double* values, std::int64_t count, double* total, Stream& stream);

// Loads the kernels on the current device before anything waits there.
void load_halo_kernels();

}  // namespace duet::DUET_GPU
