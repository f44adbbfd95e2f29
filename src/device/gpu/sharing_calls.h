// How each vendor shares memory between processes: device/cuda and device/hip define these. The
// device must be current where none is named.
#pragma once

#include <cstddef>

#include "device/buffer.h"
#include "device/gpu/vendor.h"
#include "device/shared_memory.h"

namespace duet::DUET_GPU {

// Whether the runtime knows the byte as memory of this device.
bool is_memory_of(int ordinal, const std::byte* data);

// Describes the allocations in which the span lies. Throws Unavailable with the reason.
SharedMemory share_memory(const Span& span);
// Ends what share_memory() holds for those who map.
void withdraw_memory(const SharedMemory& shared) noexcept;

// Maps all segments, for this device to read and write, and returns the first one's address here.
// Throws Unavailable with the reason.
std::byte* open_memory(int ordinal, const SharedMemory& shared);
void close_memory(int ordinal, std::byte* data, const SharedMemory& shared);

}  // namespace duet::DUET_GPU
