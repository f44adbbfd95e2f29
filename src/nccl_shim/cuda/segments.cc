#include "nccl_shim/cuda/segments.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "core/error.h"
#include "device/descriptors.h"

namespace duet::nccl_shim::cuda {
namespace {

constexpr CUmemAllocationHandleType kDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

CUdeviceptr device_pointer(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// Never ended: communicators may be, after static objects are.
DescriptorServer& lender() {
  static DescriptorServer* const server = [] {
    static DescriptorServer* const made = new DescriptorServer;
    pthread_atfork(nullptr, nullptr, [] { made->close_in_child(); });
    return made;
  }();
  return *server;
}

// The segment that an address is in; its handle is not kept. Unavailable where there is none.
Allocation segment_at(CUdeviceptr address) {
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  CUmemGenericAllocationHandle handle = 0;
  if (driver().cuMemGetAddressRange(&base, &bytes, address) != CUDA_SUCCESS ||
      driver().cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(base)) !=
          CUDA_SUCCESS) {
    throw Unavailable("memory of neither cudaMalloc nor cuMemCreate");
  }
  driver().cuMemRelease(handle);
  return {static_cast<std::uintptr_t>(base), bytes, handle, true};
}

// The program keeps a quarter of the descriptors that it may have open.
bool is_too_many(int descriptor) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<rlim_t>(descriptor) >= limit.rlim_cur - limit.rlim_cur / 4;
}

int export_descriptor(CUmemGenericAllocationHandle handle) {
  int descriptor = -1;
  if (driver().cuMemExportToShareableHandle(&descriptor, handle, kDescriptor, 0) != CUDA_SUCCESS) {
    throw Unavailable("a segment that cannot be exported");
  }
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  if (!is_too_many(descriptor)) return descriptor;
  close(descriptor);
  throw Unavailable("not enough file descriptors (ulimit -n)");
}

ExportedMemory from_text(const std::string& text) {
  ExportedMemory memory{};
  if (text.size() >= sizeof memory.bytes) throw Unavailable("a long name of a descriptor");
  std::memcpy(memory.bytes, text.data(), text.size());
  return memory;
}

std::string text_of(const ExportedMemory& memory) {
  const auto* const text = reinterpret_cast<const char*>(memory.bytes);
  return std::string(text, strnlen(text, sizeof memory.bytes));
}

}  // namespace

std::vector<Allocation> CudaSegments::of(CUdeviceptr address, std::size_t bytes) const {
  std::vector<Allocation> segments;
  for (CUdeviceptr at = address; segments.empty() || at < address + bytes;) {
    const Allocation found = segment_at(at);
    segments.push_back(found);
    at = found.base + found.bytes;
  }
  return segments;
}

bool CudaSegments::exists(const Allocation& segment) const {
  try {
    const Allocation found = segment_at(segment.base);
    return found.base == segment.base && found.bytes == segment.bytes && found.id == segment.id;
  } catch (const Unavailable&) {
    return false;
  }
}

// Of a segment that is kept.
void CudaSegments::check_exportable(const Allocation& segment) const {
  CUmemAllocationProp found{};
  if (driver().cuMemGetAllocationPropertiesFromHandle(&found, segment.id) != CUDA_SUCCESS ||
      (found.requestedHandleTypes & kDescriptor) == 0) {
    throw Unavailable("a segment that was not made to be exported as a file descriptor");
  }
  if (found.location.type != CU_MEM_LOCATION_TYPE_DEVICE || found.location.id != device_) {
    throw Unavailable("a segment that is not this device's");
  }
  if (segment_at(segment.base + segment.bytes - 1).id != segment.id) {
    throw Unavailable("an address range of several segments");
  }
}

ExportedMemory CudaSegments::lend(const Allocation& segment, const std::vector<int>& to) {
  const Entered entered(context_);
  CUmemGenericAllocationHandle kept = 0;
  check(driver().cuMemRetainAllocationHandle(&kept, reinterpret_cast<void*>(segment.base)),
        "cuMemRetainAllocationHandle");
  try {
    check_exportable(segment);
    if (to.empty()) return {};
    return from_text(lender().lend(export_descriptor(kept), to));
  } catch (const Error&) {
    driver().cuMemRelease(kept);
    throw;
  }
}

void CudaSegments::take_back(const Allocation& segment, const ExportedMemory& memory) {
  const std::string loan = text_of(memory);
  if (!loan.empty()) lender().take_back(loan);
  release(segment.id);
}

std::uint64_t CudaSegments::import_segment(int process, const ExportedMemory& memory) {
  const int descriptor = borrow(process, text_of(memory));
  const Entered entered(context_);
  CUmemGenericAllocationHandle handle = 0;
  void* const as_pointer = reinterpret_cast<void*>(static_cast<std::uintptr_t>(descriptor));
  const CUresult result = driver().cuMemImportFromShareableHandle(&handle, as_pointer, kDescriptor);
  close(descriptor);
  check(result, "cuMemImportFromShareableHandle");
  return handle;
}

void CudaSegments::release(std::uint64_t handle) {
  const Entered entered(context_);
  driver().cuMemRelease(handle);
}

char* CudaSegments::reserve(std::size_t bytes) {
  const Entered entered(context_);
  CUdeviceptr base = 0;
  check(driver().cuMemAddressReserve(&base, bytes, 0, 0, 0), "cuMemAddressReserve");
  return reinterpret_cast<char*>(base);
}

void CudaSegments::unreserve(char* base, std::size_t bytes) {
  const Entered entered(context_);
  driver().cuMemAddressFree(device_pointer(base), bytes);
}

void CudaSegments::map(char* at, std::size_t bytes, std::uint64_t handle) {
  const Entered entered(context_);
  check(driver().cuMemMap(device_pointer(at), bytes, 0, handle, 0), "cuMemMap");
  const CUmemAccessDesc access{location(), CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  const CUresult result = driver().cuMemSetAccess(device_pointer(at), bytes, &access, 1);
  if (result != CUDA_SUCCESS) driver().cuMemUnmap(device_pointer(at), bytes);
  check(result, "cuMemSetAccess");
}

void CudaSegments::unmap(char* at, std::size_t bytes) {
  const Entered entered(context_);
  driver().cuMemUnmap(device_pointer(at), bytes);
}

bool CudaSegments::reaches(const void* address) {
  const Entered entered(context_);
  const CUmemLocation own = location();
  unsigned long long flags = 0;
  return driver().cuMemGetAccess(&flags, &own, device_pointer(address)) == CUDA_SUCCESS &&
         flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

CUmemAllocationProp CudaSegments::properties() const {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.requestedHandleTypes = kDescriptor;
  wanted.location = location();
  return wanted;
}

std::size_t CudaSegments::granule() {
  const Entered entered(context_);
  const CUmemAllocationProp wanted = properties();
  std::size_t bytes = 0;
  check(driver().cuMemGetAllocationGranularity(&bytes, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "cuMemGetAllocationGranularity");
  return bytes;
}

char* CudaSegments::make(std::size_t count) {
  const std::size_t bytes = granule();
  const CUmemAllocationProp wanted = properties();
  const Entered entered(context_);
  char* const base = reserve(count * bytes);
  std::size_t made = 0;
  try {
    for (; made < count; ++made) {
      CUmemGenericAllocationHandle handle = 0;
      check(driver().cuMemCreate(&handle, bytes, &wanted, 0), "cuMemCreate");
      try {
        map(base + made * bytes, bytes, handle);
      } catch (const Error&) {
        driver().cuMemRelease(handle);
        throw;
      }
      driver().cuMemRelease(handle);  // the mapping keeps it
    }
  } catch (const Error&) {
    for (std::size_t i = 0; i < made; ++i) unmap(base + i * bytes, bytes);
    unreserve(base, count * bytes);
    throw;
  }
  return base;
}

void CudaSegments::destroy(char* base, std::size_t count) {
  const std::size_t bytes = granule();
  for (std::size_t i = 0; i < count; ++i) unmap(base + i * bytes, bytes);
  unreserve(base, count * bytes);
}

}  // namespace duet::nccl_shim::cuda
