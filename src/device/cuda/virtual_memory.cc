#include "device/cuda/virtual_memory.h"

#include <unistd.h>

#include "device/cuda/driver.h"
#include "device/descriptors.h"

namespace duet::cuda {
namespace {

struct Driver {
  DUET_DRIVER_FUNCTION(retain, cuMemRetainAllocationHandle, 11000);
  DUET_DRIVER_FUNCTION(export_handle, cuMemExportToShareableHandle, 10020);
  DUET_DRIVER_FUNCTION(import_handle, cuMemImportFromShareableHandle, 10020);
  DUET_DRIVER_FUNCTION(release, cuMemRelease, 10020);
  DUET_DRIVER_FUNCTION(reserve, cuMemAddressReserve, 10020);
  DUET_DRIVER_FUNCTION(free_range, cuMemAddressFree, 10020);
  DUET_DRIVER_FUNCTION(map, cuMemMap, 10020);
  DUET_DRIVER_FUNCTION(unmap, cuMemUnmap, 10020);
  DUET_DRIVER_FUNCTION(set_access, cuMemSetAccess, 10020);
};

const Driver& driver() {
  static const Driver functions;
  return functions;
}

void require(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) throw Unavailable(fmt::format("{}: {}", what, words_for(result)));
}

// Maps one segment. The mapping keeps the segment alive, so the descriptor and the handle are
// closed.
void map_segment(CUdeviceptr at, int process, const MemoryDescriptor::Segment& segment) {
  const int descriptor = borrow(process, segment.handle);
  CUmemGenericAllocationHandle handle = 0;
  void* const as_pointer = reinterpret_cast<void*>(static_cast<std::uintptr_t>(descriptor));
  const CUresult imported =
      driver().import_handle(&handle, as_pointer, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  close(descriptor);
  require(imported, "cuMemImportFromShareableHandle");
  const CUresult mapped = driver().map(at, segment.bytes, 0, handle, 0);
  driver().release(handle);
  require(mapped, "cuMemMap");
}

void unmap_first(CUdeviceptr at, const MemoryDescriptor& descriptor, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    driver().unmap(at, descriptor.segments[i].bytes);
    at += descriptor.segments[i].bytes;
  }
}

}  // namespace

std::string lend_segment(std::uint64_t base) {
  CUmemGenericAllocationHandle handle = 0;
  require(driver().retain(&handle, reinterpret_cast<void*>(base)),
          "memory that neither cudaMalloc nor cuMemCreate made cannot be shared");
  int descriptor = -1;
  const CUresult result =
      driver().export_handle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  driver().release(handle);
  require(result, "memory was not created to be shared by a file descriptor");
  return DescriptorServer::instance().lend(descriptor);
}

void close_segments(const MemoryDescriptor& descriptor) noexcept {
  for (const MemoryDescriptor::Segment& each : descriptor.segments) {
    DescriptorServer::instance().take_back(each.handle);
  }
}

std::byte* map_segments(int ordinal, const MemoryDescriptor& descriptor) {
  const std::size_t bytes = descriptor.mapped_bytes();
  CUdeviceptr begin = 0;
  require(driver().reserve(&begin, bytes, 0, 0, 0), "cuMemAddressReserve");
  std::size_t mapped = 0;
  try {
    CUdeviceptr at = begin;
    for (const MemoryDescriptor::Segment& each : descriptor.segments) {
      map_segment(at, descriptor.process, each);
      at += each.bytes;
      ++mapped;
    }
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = ordinal;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    require(driver().set_access(begin, bytes, &access, 1), "cuMemSetAccess");
  } catch (...) {
    unmap_first(begin, descriptor, mapped);
    driver().free_range(begin, bytes);
    throw;
  }
  return reinterpret_cast<std::byte*>(begin);
}

void unmap_segments(std::byte* data, const MemoryDescriptor& descriptor) {
  const CUdeviceptr begin = reinterpret_cast<CUdeviceptr>(data);
  unmap_first(begin, descriptor, descriptor.segments.size());
  driver().free_range(begin, descriptor.mapped_bytes());
}

}  // namespace duet::cuda
