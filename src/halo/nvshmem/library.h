#pragma once

#include "halo/nvshmem/calls.h"

namespace duet::nvshmem {

// NVSHMEM itself (kernels.cu).
const HaloCalls& library_halo_calls();

}  // namespace duet::nvshmem
