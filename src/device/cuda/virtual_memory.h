// Memory that is mapped segment by segment (CUDA's virtual memory management). Processes share each
// segment as a file descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "device/memory_descriptor.h"

namespace duet::cuda {

// Offers the segment at this address to other processes and returns the handle by which they borrow
// its file descriptor. Throws Unavailable where the segment was not created as shareable.
std::string lend_segment(std::uint64_t base);
void close_segments(const MemoryDescriptor& descriptor) noexcept;

// Maps the segments contiguously for this device, which must be current. Throws Unavailable with
// the reason.
std::byte* map_segments(int ordinal, const MemoryDescriptor& descriptor);
void unmap_segments(std::byte* data, const MemoryDescriptor& descriptor);

}  // namespace duet::cuda
