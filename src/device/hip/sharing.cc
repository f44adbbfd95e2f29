#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "core/error.h"
#include "device/gpu/sharing_calls.h"

namespace duet::hip {
namespace {

[[noreturn]] void cannot(const char* what, hipError_t error) {
  forget(error);
  throw Unavailable(fmt::format("{}: {}", what, hipGetErrorString(error)));
}

}  // namespace

bool is_memory_of(int ordinal, const std::byte* data) {
  hipPointerAttribute_t attributes{};
  const hipError_t result = hipPointerGetAttributes(&attributes, data);
  forget(result);
#if HIP_VERSION_MAJOR >= 6
  const bool on_device = attributes.type == hipMemoryTypeDevice;
#else
  const bool on_device = attributes.memoryType == hipMemoryTypeDevice;
#endif
  return result == hipSuccess && on_device && attributes.device == ordinal;
}

// Hazard: HIP has no unique number of an allocation. If an allocation is freed and another one is
// made at the same address while the first is still mapped in another process, the two are taken
// for the same.
MemoryDescriptor export_allocations(const Span& span) {
  void* base = nullptr;
  std::size_t bytes = 0;
  const hipError_t found = hipMemGetAddressRange(&base, &bytes, span.data);
  if (found != hipSuccess) cannot("hipMemGetAddressRange", found);
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(span.data) - begin;
  if (span.bytes > bytes - offset) {
    throw Unavailable("hip: memory of several segments cannot be shared between processes");
  }
  hipIpcMemHandle_t handle{};
  const hipError_t result = hipIpcGetMemHandle(&handle, base);
  if (result != hipSuccess) cannot("hipIpcGetMemHandle", result);
  const std::string text(handle.reserved, sizeof handle.reserved);
  return {"hip", this_place(), getpid(), offset, span.bytes, {{begin, bytes, 0, text}}};
}

void close_exports(const MemoryDescriptor&) noexcept {}

std::byte* map_exported(int ordinal, const MemoryDescriptor& descriptor) {
  hipIpcMemHandle_t handle{};
  const std::string& text = descriptor.segments.at(0).handle;
  if (text.size() != sizeof handle.reserved) throw Unavailable("hip: this is no handle of HIP's");
  std::memcpy(handle.reserved, text.data(), sizeof handle.reserved);
  use_device(ordinal);
  void* data = nullptr;
  const hipError_t result = hipIpcOpenMemHandle(&data, handle, hipIpcMemLazyEnablePeerAccess);
  if (result != hipSuccess) cannot("hipIpcOpenMemHandle", result);
  return static_cast<std::byte*>(data);
}

void unmap_exported(int ordinal, std::byte* data, const MemoryDescriptor&) {
  use_device(ordinal);
  forget(hipIpcCloseMemHandle(data));
}

// Not supported: the runtime's function for dmabufs is newer than the versions that Duet is
// compiled against. libfabric gets dmabufs from the GPU's driver itself.
Dmabuf dmabuf_of(int ordinal, const Span&) {
  throw Unavailable(fmt::format("hip:{}: Duet takes no dmabuf of its memory", ordinal));
}

std::unique_ptr<CpuView> view_memory(int ordinal, const Span&) {
  throw Unavailable(fmt::format("hip:{}: Duet does not map its memory for the CPU", ordinal));
}

}  // namespace duet::hip
