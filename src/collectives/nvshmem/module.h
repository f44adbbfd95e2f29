#pragma once

namespace duet::nvshmem {

// Registers what other workloads have of NVSHMEM when the module is loaded. The symbol is weak: a
// module that is built without them leaves it undefined and still loads.
__attribute__((weak)) void register_nvshmem_halo();

}  // namespace duet::nvshmem
