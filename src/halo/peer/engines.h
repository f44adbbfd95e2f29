// Engines that write into the neighbours' memory: by copy engines ("dma"), and by the compute units
// that sweep ("kernel").
#pragma once

#include <memory>

#include "halo/engine.h"

namespace duet {

std::unique_ptr<HaloEngine> make_dma_halo();
std::unique_ptr<HaloEngine> make_kernel_halo();

}  // namespace duet
