// Memory that is mapped segment by segment (CUDA's virtual memory management): between processes
// each segment is a file descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "device/shared_memory.h"

namespace duet::cuda {

// Lends the segment at this address. Throws Unavailable where it was not created to be shared.
std::string lend_segment(std::uint64_t base);
void take_back_segments(const SharedMemory& shared) noexcept;

// Maps the segments one behind the other, for this device, which must be current. Throws
// Unavailable with the reason.
std::byte* map_segments(int ordinal, const SharedMemory& shared);
void unmap_segments(std::byte* data, const SharedMemory& shared);

}  // namespace duet::cuda
