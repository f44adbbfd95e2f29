#pragma once

#include <memory>

#include "collectives/engine.h"
#include "collectives/nvshmem/calls.h"

namespace duet::nvshmem {

// What begins the puts: the host, by the library's calls on a stream; one block of a kernel; or
// many blocks.
enum class Initiation { stream, block, grid };

// The engines "nvshmem", "nvshmem-block" and "nvshmem-grid": all_gather, all_to_all and
// all_to_all_v, out of place, between symmetric buffers, which their sessions allocate. A rank is a
// PE, which is a process with one GPU. The calls must outlive the engine.
std::unique_ptr<CollectiveEngine> make_engine(const Calls& calls, Initiation initiation,
                                              const char* device_kind);

}  // namespace duet::nvshmem
