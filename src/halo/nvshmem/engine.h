#pragma once

#include <memory>

#include "halo/engine.h"
#include "halo/nvshmem/calls.h"

namespace duet::nvshmem {

// The engines "nvshmem-p", "nvshmem-block" and "nvshmem-signal". A rank is a PE, which is a process
// with one GPU. The calls must outlive the engine.
std::unique_ptr<HaloEngine> make_halo_engine(const HaloCalls& calls, Put put,
                                             const char* device_kind);

}  // namespace duet::nvshmem
