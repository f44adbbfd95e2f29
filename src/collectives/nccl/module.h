#pragma once

#include "collectives/nccl/library.h"

namespace duet::nccl {

// Registers what other workloads have of NCCL when the module is loaded. The symbol is weak: a
// module that is built without them leaves it undefined and still loads.
__attribute__((weak)) void register_nccl_halo(const Library& library);

}  // namespace duet::nccl
