// CUDA memory between processes: by IPC handles for memory of cudaMalloc, by file descriptors for
// memory that is mapped segment by segment (virtual_memory.cc).
#include <unistd.h>

#include <cstring>

#include "device/cuda/driver.h"
#include "device/cuda/virtual_memory.h"
#include "device/gpu/sharing_calls.h"

namespace duet::cuda {
namespace {

struct Driver {
  DUET_DRIVER_FUNCTION(range, cuMemGetAddressRange, 3020);
  DUET_DRIVER_FUNCTION(attribute, cuPointerGetAttribute, 4000);
};

const Driver& driver() {
  static const Driver functions;
  return functions;
}

MemoryDescriptor::Segment segment_at(std::uint64_t address) {
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  DUET_DRIVER_CHECK(driver().range(&base, &bytes, address));
  unsigned long long id = 0;
  DUET_DRIVER_CHECK(driver().attribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, base));
  return {base, bytes, id, ""};
}

bool has_ipc_handle(std::uint64_t base) {
  int capable = 0;
  const auto attribute = CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE;
  DUET_DRIVER_CHECK(driver().attribute(&capable, attribute, base));
  return capable != 0;
}

[[noreturn]] void cannot(const char* what, cudaError_t error) {
  forget(error);
  throw Unavailable(fmt::format("{}: {}", what, cudaGetErrorString(error)));
}

std::string ipc_handle(std::uint64_t base) {
  cudaIpcMemHandle_t handle{};
  const cudaError_t result = cudaIpcGetMemHandle(&handle, reinterpret_cast<void*>(base));
  if (result != cudaSuccess) cannot("cudaIpcGetMemHandle", result);
  return {handle.reserved, sizeof handle.reserved};
}

// A CUDA IPC handle has 64 bytes. The handle of a file descriptor is always shorter.
bool is_ipc(const MemoryDescriptor& descriptor) {
  return descriptor.segments.size() == 1 &&
         descriptor.segments[0].handle.size() == sizeof(cudaIpcMemHandle_t);
}

}  // namespace

bool is_memory_of(int ordinal, const std::byte* data) {
  cudaPointerAttributes attributes{};
  const cudaError_t result = cudaPointerGetAttributes(&attributes, data);
  forget(result);
  return result == cudaSuccess && attributes.type == cudaMemoryTypeDevice &&
         attributes.device == ordinal;
}

MemoryDescriptor export_allocations(const Span& span) {
  const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(span.data);
  MemoryDescriptor descriptor{"cuda", this_place(), getpid(), 0, span.bytes, {}};
  try {
    for (std::uint64_t at = begin; at < begin + span.bytes;) {
      MemoryDescriptor::Segment segment = segment_at(at);
      segment.handle =
          has_ipc_handle(segment.base) ? ipc_handle(segment.base) : lend_segment(segment.base);
      at = segment.base + segment.bytes;
      descriptor.segments.push_back(std::move(segment));
    }
  } catch (...) {
    close_exports(descriptor);
    throw;
  }
  descriptor.offset = begin - descriptor.segments.front().base;
  return descriptor;
}

void close_exports(const MemoryDescriptor& descriptor) noexcept {
  if (!is_ipc(descriptor)) close_segments(descriptor);
}

std::byte* map_exported(int ordinal, const MemoryDescriptor& descriptor) {
  use_device(ordinal);
  if (!is_ipc(descriptor)) return map_segments(ordinal, descriptor);
  cudaIpcMemHandle_t handle{};
  std::memcpy(handle.reserved, descriptor.segments[0].handle.data(), sizeof handle.reserved);
  void* data = nullptr;
  const cudaError_t result = cudaIpcOpenMemHandle(&data, handle, cudaIpcMemLazyEnablePeerAccess);
  if (result != cudaSuccess) cannot("cudaIpcOpenMemHandle", result);
  return static_cast<std::byte*>(data);
}

void unmap_exported(int ordinal, std::byte* data, const MemoryDescriptor& descriptor) {
  use_device(ordinal);
  if (!is_ipc(descriptor)) return unmap_segments(data, descriptor);
  forget(cudaIpcCloseMemHandle(data));
}

// The range of the dmabuf begins and ends at page boundaries of the host.
Dmabuf dmabuf_of(int ordinal, const Span& span) {
  static const auto handle_for =
      entry_point<PFN_cuMemGetHandleForAddressRange_v11070>("cuMemGetHandleForAddressRange", 11070);
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(span.data);
  const std::uint64_t from = begin / page * page;
  const std::uint64_t to = (begin + span.bytes + page - 1) / page * page;
  int descriptor = -1;
  const CUresult result =
      handle_for(&descriptor, from, to - from, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
  if (result != CUDA_SUCCESS) {
    throw Unavailable(
        fmt::format("cuda:{}: its memory has no dmabuf: {}", ordinal, words_for(result)));
  }
  return {descriptor, begin - from};
}

}  // namespace duet::cuda
