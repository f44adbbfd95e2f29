#pragma once

#include <memory>

#include "collectives/nccl/library.h"
#include "halo/engine.h"

namespace duet::nccl {

// NCCL with its defaults. The library must outlive the engine.
std::unique_ptr<HaloEngine> make_halo_engine(const Library& library);

}  // namespace duet::nccl
