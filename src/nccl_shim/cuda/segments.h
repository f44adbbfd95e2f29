// Segments on NVIDIA GPUs: memory of cuMemCreate and cuMemMap, as ncclMemAlloc's and that of
// PyTorch's expandable segments. Other processes get it as file descriptors.
#pragma once

#include <vector>

#include "nccl_shim/cuda/driver.h"
#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::cuda {

class CudaSegments : public SegmentMemory {
 public:
  CudaSegments(CUcontext context, CUdevice device) : context_(context), device_(device) {}

  // In the context. What ShimDevice::allocations() and exists() are for segments.
  std::vector<Allocation> of(CUdeviceptr address, std::size_t bytes) const;
  bool exists(const Allocation& segment) const;

  ExportedMemory lend(const Allocation& segment, const std::vector<int>& to) override;
  void take_back(const Allocation& segment, const ExportedMemory& memory) override;
  std::uint64_t import_segment(int process, const ExportedMemory& memory) override;
  void release(std::uint64_t handle) override;
  char* reserve(std::size_t bytes) override;
  void unreserve(char* base, std::size_t bytes) override;
  void map(char* at, std::size_t bytes, std::uint64_t handle) override;
  void unmap(char* at, std::size_t bytes) override;
  bool reaches(const void* address) override;
  std::size_t granule() override;
  char* make(std::size_t count) override;
  void destroy(char* base, std::size_t count) override;

 private:
  CUmemLocation location() const { return {CU_MEM_LOCATION_TYPE_DEVICE, {device_}}; }
  CUmemAllocationProp properties() const;
  void check_exportable(const Allocation& segment) const;

  const CUcontext context_;
  const CUdevice device_;
};

}  // namespace duet::nccl_shim::cuda
