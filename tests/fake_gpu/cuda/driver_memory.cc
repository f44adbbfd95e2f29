// Memory of the stand-in for libcuda.so.1.
#include <cstring>
#include <map>
#include <mutex>

#include "device/gpu/gpu_pages.h"
#include "fake_gpu/core/host_vmm.h"
#include "fake_gpu/cuda/driver.h"
#include "fake_gpu/cuda/host_device.h"

namespace host = duet::nccl_shim::host;
using fake_cuda::in_context;
using fake_cuda::pointer;
using fake_cuda::pushed;
using fake_gpu::Kind;
using fake_gpu::memory;

namespace {

std::mutex memory_mutex;
std::map<void*, std::size_t> registered;  // bytes, by base

CUresult given(CUdeviceptr* address, const void* made) {
  *address = reinterpret_cast<CUdeviceptr>(made);
  return made == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult released(Kind kind, CUdeviceptr address) {
  return memory().release(kind, pointer(address), true) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

char* at(CUdeviceptr address) { return static_cast<char*>(pointer(address)); }

// Of memory of a device; `legacy`: that cuIpcGetMemHandle takes.
CUresult attribute_of(int device, bool legacy, void* value, CUpointer_attribute which) {
  switch (which) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<CUmemorytype*>(value) = CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      *static_cast<int*>(value) = legacy ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      *static_cast<CUmemoryPool*>(value) = nullptr;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

bool is_usual(const CUmemAllocationProp& wanted) {
  return wanted.type == CU_MEM_ALLOCATION_TYPE_PINNED &&
         wanted.location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
         wanted.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}

}  // namespace

extern "C" {

CUresult cuMemHostRegister(void* base, std::size_t bytes, unsigned flags) {
  return in_context([&] {
    if (flags != (CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const std::lock_guard<std::mutex> lock(memory_mutex);
    return registered.emplace(base, bytes).second ? CUDA_SUCCESS
                                                  : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  });
}

CUresult cuMemHostUnregister(void* base) {
  const std::lock_guard<std::mutex> lock(memory_mutex);
  return registered.erase(base) == 1 ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* base, unsigned) {
  const std::lock_guard<std::mutex> lock(memory_mutex);
  *address = reinterpret_cast<CUdeviceptr>(base);
  return registered.count(base) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute which, CUdeviceptr address) {
  return in_context([&] {
    const host_vmm::Mapping segment = host_vmm::find(pointer(address));
    if (segment.base != nullptr) return attribute_of(segment.device, false, value, which);
    const fake_gpu::Range found = host::allocated(pointer(address), 1);
    if (which != CU_POINTER_ATTRIBUTE_BUFFER_ID) {
      return attribute_of(found.device, true, value, which);
    }
    *static_cast<unsigned long long*>(value) = found.id;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAddressRange(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
  return in_context([&] {
    const host_vmm::Mapping segment = host_vmm::find(pointer(address));
    if (segment.base != nullptr) {
      *base = reinterpret_cast<CUdeviceptr>(segment.base);
      *bytes = segment.bytes;
      return CUDA_SUCCESS;
    }
    const fake_gpu::Range found = host::allocated(pointer(address), 1);
    *base = found.begin;
    *bytes = found.bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  return in_context([&] {
    const fake_gpu::Range found = host::allocated(pointer(address), 1);
    const auto shared = memory().share(reinterpret_cast<const void*>(found.begin));
    if (!shared) return CUDA_ERROR_INVALID_VALUE;
    static_assert(sizeof *shared <= sizeof *handle);
    *handle = {};
    std::memcpy(handle->reserved, &*shared, sizeof *shared);
    return CUDA_SUCCESS;
  });
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  return in_context([&] {
    if (flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
    fake_gpu::Handle shared;
    std::memcpy(&shared, handle.reserved, sizeof shared);
    return given(address, memory().import(pushed.back()->device, shared));
  });
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  return in_context([&] { return released(Kind::imported, address); });
}

CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  return in_context([&] {
    // Peers' copies would be slow (device/gpu/gpu_pages.h).
    if (bytes != duet::whole_gpu_pages(bytes)) return CUDA_ERROR_INVALID_VALUE;
    host_gpu_count_allocation();
    return given(address, memory().allocate(Kind::device, pushed.back()->device, bytes, false));
  });
}

CUresult cuMemFree(CUdeviceptr address) {
  return in_context([&] { return released(Kind::device, address); });
}

CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp* wanted,
                                       CUmemAllocationGranularity_flags) {
  *bytes = host_vmm::kGranule;
  return is_usual(*wanted) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* wanted, unsigned long long flags) {
  return in_context([&] {
    if (!is_usual(*wanted) || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *handle = host_vmm::create(wanted->location.id, bytes);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return in_context([&] {
    host_vmm::release(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return in_context([&] {
    *handle = host_vmm::retain(address);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* found,
                                                CUmemGenericAllocationHandle handle) {
  return in_context([&] {
    *found = {};
    found->type = CU_MEM_ALLOCATION_TYPE_PINNED;
    found->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    found->location.id = host_vmm::device_of(handle);
    found->requestedHandleTypes = host_vmm::is_exportable(handle)
                                      ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                                      : CU_MEM_HANDLE_TYPE_NONE;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemExportToShareableHandle(void* descriptor, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
  return in_context([&] {
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *static_cast<int*>(descriptor) = host_vmm::export_descriptor(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* descriptor,
                                        CUmemAllocationHandleType type) {
  return in_context([&] {
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
    *handle = host_vmm::import_descriptor(
        pushed.back()->device, static_cast<int>(reinterpret_cast<std::uintptr_t>(descriptor)));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t alignment,
                             CUdeviceptr wanted, unsigned long long flags) {
  return in_context([&] {
    if (alignment != 0 || wanted != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *address = reinterpret_cast<CUdeviceptr>(host_vmm::reserve(bytes));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  return in_context([&] {
    host_vmm::unreserve(at(address), bytes);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return in_context([&] {
    if (offset != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    host_vmm::map(at(address), bytes, handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  return in_context([&] {
    host_vmm::unmap(at(address), bytes);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access,
                        std::size_t count) {
  return in_context([&] {
    if (count != 1 || access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE ||
        access->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    host_vmm::set_access(at(address), bytes, access->location.id);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                        CUdeviceptr address) {
  return in_context([&] {
    *flags = host_vmm::has_access(pointer(address), location->id)
                 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                 : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
