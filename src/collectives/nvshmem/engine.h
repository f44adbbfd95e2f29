#pragma once

#include <memory>

#include "collectives/engine.h"
#include "collectives/nvshmem/calls.h"

namespace duet::nvshmem {

// The engine "nvshmem": all_to_all, out of place, between symmetric buffers, which its sessions
// allocate. A rank is a PE, which is a process with one GPU. The calls must outlive the engine.
std::unique_ptr<CollectiveEngine> make_engine(const Calls& calls, const char* device_kind);

}  // namespace duet::nvshmem
