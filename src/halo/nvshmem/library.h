#pragma once

#include "halo/nvshmem/calls.h"

namespace duet::nvshmem {

// NVSHMEM itself (kernels.cu).
const Calls& library_calls();

}  // namespace duet::nvshmem
