#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <iterator>

#include "core/error.h"
#include "device/gpu/device.h"
#include "device/gpu/gpu_pages.h"

namespace duet::DUET_GPU {
namespace {

std::uint64_t host_memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::string shortage(const DeviceInfo& info, std::uint64_t bytes, MemoryKind kind) {
  return fmt::format("{}: no {} bytes of {} memory", info.name, bytes, name(kind));
}

gpuError_t allocate_as(MemoryKind kind, bool coherent, void** data, std::uint64_t bytes) {
  switch (kind) {
    case MemoryKind::device:
      return coherent ? gpuMallocCoherent(data, whole_gpu_pages(bytes))
                      : GPU(Malloc)(data, whole_gpu_pages(bytes));
    case MemoryKind::managed:
      return GPU(MallocManaged)(data, bytes, GPU(MemAttachGlobal));
    default:
      return gpuHostAlloc(data, bytes, gpuHostAllocPortable | gpuHostAllocMapped);
  }
}

}  // namespace

Span GpuDevice::acquire_pageable(std::uint64_t bytes) {
  const std::size_t alignment = host_alignment(bytes);
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* data = std::aligned_alloc(alignment, rounded);
  if (data == nullptr) throw OutOfMemory(shortage(info_, bytes, MemoryKind::pageable));
  return {this, static_cast<std::byte*>(data), bytes, MemoryKind::pageable};
}

Span GpuDevice::acquire(std::uint64_t bytes, MemoryKind kind) {
  return acquire_as(bytes, kind, false);
}

Span GpuDevice::acquire_coherent(std::uint64_t bytes) {
  return acquire_as(bytes, MemoryKind::device, true);
}

Buffer GpuDevice::allocate_spaced(std::uint64_t bytes) {
  Buffer memory = allocate_coherent(bytes);
  const std::lock_guard<std::mutex> lock(spaced_mutex_);
  spaced_[memory.span().data] = bytes;
  return memory;
}

bool GpuDevice::is_spaced(const Semaphore& semaphore) {
  const std::byte* const word = semaphore.word.data;
  const std::lock_guard<std::mutex> lock(spaced_mutex_);
  const auto after = spaced_.upper_bound(word);
  if (after == spaced_.begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  const auto offset = static_cast<std::uint64_t>(word - begin);
  return offset < bytes && offset % kSpacedBytes == sizeof(std::uint64_t);
}

Span GpuDevice::acquire_as(std::uint64_t bytes, MemoryKind kind, bool coherent) {
  // Pinning touches every page. If memory ran out, the operating system would kill processes.
  if (kind != MemoryKind::device && bytes > host_memory_bytes()) {
    throw OutOfMemory(shortage(info_, bytes, kind));
  }
  if (kind == MemoryKind::pageable) return acquire_pageable(bytes);
  use();
  void* data = nullptr;
  const gpuError_t result = allocate_as(kind, coherent, &data, bytes);
  // For some sizes that are far too large the runtime returns `invalid value`.
  if (result == GPU(ErrorMemoryAllocation) || result == GPU(ErrorInvalidValue)) {
    forget(result);
    throw OutOfMemory(shortage(info_, bytes, kind));
  }
  DUET_GPU_CHECK(result);
  return {this, static_cast<std::byte*>(data), bytes, kind};
}

// Hazard: the vendor's free waits for the whole device. It must not be called while a stream of the
// device waits for a semaphore that only the calling thread would signal.
void GpuDevice::release(const Span& span) noexcept {
  if (span.kind == MemoryKind::pageable) {
    std::free(span.data);
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(spaced_mutex_);
    spaced_.erase(span.data);
  }
  forget(GPU(SetDevice)(ordinal_));
  forget(span.kind == MemoryKind::pinned ? gpuFreeHost(span.data) : GPU(Free)(span.data));
}

}  // namespace duet::DUET_GPU
