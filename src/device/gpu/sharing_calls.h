// How memory is shared between processes. Defined per vendor in device/cuda and device/hip. A
// function without a device parameter works on the current device.
#pragma once

#include <cstddef>
#include <memory>

#include "device/buffer.h"
#include "device/cpu_view.h"
#include "device/dmabuf.h"
#include "device/gpu/vendor.h"
#include "device/memory_descriptor.h"

namespace duet::DUET_GPU {

// Whether the runtime knows the address as memory of this device.
bool is_memory_of(int ordinal, const std::byte* data);

// Describes the allocations in which the span lies. Throws Unavailable with the reason.
MemoryDescriptor export_allocations(const Span& span);
// Releases what export_allocations() keeps open for other processes to map.
void close_exports(const MemoryDescriptor& descriptor) noexcept;

// Maps all segments for this device to read and write, and returns the address of the first one in
// this process. Throws Unavailable with the reason.
std::byte* map_exported(int ordinal, const MemoryDescriptor& descriptor);
void unmap_exported(int ordinal, std::byte* data, const MemoryDescriptor& descriptor);

// A dmabuf of device memory. Throws Unavailable with the reason.
Dmabuf dmabuf_of(int ordinal, const Span& span);

// A mapping through which the CPU accesses device memory over the bus. Throws Unavailable with the
// reason.
std::unique_ptr<CpuView> view_memory(int ordinal, const Span& span);

}  // namespace duet::DUET_GPU
