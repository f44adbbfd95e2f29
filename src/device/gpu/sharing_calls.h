// How each vendor shares memory between processes: device/cuda and device/hip define these. The
// device must be current where none is named.
#pragma once

#include <cstddef>
#include <memory>

#include "device/buffer.h"
#include "device/cpu_view.h"
#include "device/dmabuf.h"
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

// Of device memory. Throws Unavailable with the reason.
Dmabuf dmabuf_of(int ordinal, const Span& span);

// Device memory as the CPU follows it over the bus. Throws Unavailable with the reason.
std::unique_ptr<CpuView> view_memory(int ordinal, const Span& span);

}  // namespace duet::DUET_GPU
