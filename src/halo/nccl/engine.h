#pragma once

#include <memory>

#include "collectives/nccl/mode.h"
#include "halo/engine.h"

namespace duet::nccl {

// NCCL in a mode without zero_cta, in which it makes no sends. The library must outlive the engine.
std::unique_ptr<HaloEngine> make_halo_engine(const Library& library, const Mode& mode);

}  // namespace duet::nccl
