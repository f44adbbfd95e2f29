// Memory of host devices that other processes can map: as a GPU's allocations, each with a base, a
// length and an id. One table for all devices of a process. Thread-safe.
#pragma once

#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::host {

void* allocate(std::size_t bytes);  // throws OutOfMemory
void release(void* base);           // what is mapped elsewhere stays there

// As ShimDevice's; memory that allocate() has not given cannot be exported.
Allocation find_allocation(const void* pointer, std::size_t bytes);
bool exists(const Allocation& allocation);
ExportedMemory export_memory(const Allocation& allocation);
void* import_memory(const ExportedMemory& memory, std::size_t bytes);

}  // namespace duet::nccl_shim::host
