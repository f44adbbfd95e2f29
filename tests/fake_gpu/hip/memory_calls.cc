// Allocation, what is known of an address, and memory of other processes.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fake_gpu/hip/runtime.h"

namespace fake_gpu {
namespace {

hipError_t allocate(void** data, Kind kind, std::size_t bytes, bool coherent) {
  *data = nullptr;
  if (bytes == 0) return hipSuccess;
  *data = memory().allocate(kind, current_device(), bytes, coherent);
  return *data == nullptr ? hipErrorOutOfMemory : hipSuccess;
}

// As the runtime's, it waits for the device.
hipError_t release(void* data, Kind kind) {
  if (data == nullptr) return hipSuccess;
  const std::optional<Range> range = memory().find(data);
  if (!range) return hipErrorInvalidValue;
  if (!wait_for_device(range->device, kDeadlineSeconds)) {
    std::fprintf(stderr, "hip stand-in: memory at %p is freed while a stream of device %d waits\n",
                 data, range->device);
    std::abort();
  }
  return memory().release(kind, data) ? hipSuccess : hipErrorInvalidValue;
}

hipMemoryType type_of(Kind kind) {
  switch (kind) {
    case Kind::host:
      return hipMemoryTypeHost;
    case Kind::managed:
      return hipMemoryTypeManaged;
    case Kind::device:
    case Kind::imported:
      break;
  }
  return hipMemoryTypeDevice;
}

}  // namespace
extern "C" {

hipError_t hipMalloc(void** data, std::size_t bytes) {
  return result(allocate(data, Kind::device, bytes, false));
}

hipError_t hipExtMallocWithFlags(void** data, std::size_t bytes, unsigned flags) {
  if (flags != hipDeviceMallocUncached) return result(hipErrorInvalidValue);
  return result(allocate(data, Kind::device, bytes, true));
}

hipError_t hipMallocManaged(void** data, std::size_t bytes, unsigned flags) {
  if (flags != hipMemAttachGlobal) return result(hipErrorInvalidValue);
  return result(allocate(data, Kind::managed, bytes, false));
}

hipError_t hipHostMalloc(void** data, std::size_t bytes, unsigned flags) {
  if ((flags & ~(hipHostMallocPortable | hipHostMallocMapped)) != 0) {
    return result(hipErrorInvalidValue);
  }
  return result(allocate(data, Kind::host, bytes, true));
}

hipError_t hipFree(void* data) {
  const std::optional<Range> range = memory().find(data);
  const bool managed = range && range->kind == Kind::managed;
  return result(release(data, managed ? Kind::managed : Kind::device));
}

hipError_t hipHostFree(void* data) { return result(release(data, Kind::host)); }

hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* data) {
  const std::optional<Range> range = memory().find(data);
  if (!range) return result(hipErrorInvalidValue);
  *attributes = {};
  attributes->type = type_of(range->kind);
  attributes->device = range->device;
  attributes->devicePointer = const_cast<void*>(data);
  attributes->isManaged = range->kind == Kind::managed ? 1 : 0;
  return hipSuccess;
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, std::size_t* bytes, hipDeviceptr_t data) {
  const std::optional<Range> range = memory().find(data);
  if (!range) return result(hipErrorInvalidValue);
  *base = reinterpret_cast<void*>(range->begin);
  *bytes = range->bytes;
  return hipSuccess;
}

hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* handle, void* data) {
  const std::optional<Handle> shared = memory().share(data);
  if (!shared) return result(hipErrorInvalidValue);
  static_assert(sizeof *shared <= sizeof *handle);
  *handle = {};
  std::memcpy(handle->reserved, &*shared, sizeof *shared);
  return hipSuccess;
}

hipError_t hipIpcOpenMemHandle(void** data, hipIpcMemHandle_t handle, unsigned flags) {
  if (flags != hipIpcMemLazyEnablePeerAccess) return result(hipErrorInvalidValue);
  Handle shared;
  std::memcpy(&shared, handle.reserved, sizeof shared);
  if (shared.process == getpid()) return result(hipErrorInvalidContext);
  *data = memory().import(current_device(), shared);
  return result(*data == nullptr ? hipErrorMapFailed : hipSuccess);
}

hipError_t hipIpcCloseMemHandle(void* data) { return result(release(data, Kind::imported)); }

}  // extern "C"

}  // namespace fake_gpu
