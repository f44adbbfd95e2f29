// Segments (protocol/device.h) of a host device, over those of the host's "GPUs".
#pragma once

#include <vector>

#include "fake_gpu/core/host_vmm.h"
#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim::testing {

class TestSegments : public SegmentMemory {
 public:
  explicit TestSegments(int device) : device_(device) {}

  // Empty where nothing is mapped.
  static std::vector<Allocation> of(const void* pointer, std::size_t bytes);
  static bool exists(const Allocation& segment);

  ExportedMemory lend(const Allocation& segment, const std::vector<int>& to) override;
  void take_back(const Allocation& segment, const ExportedMemory& memory) override;
  std::uint64_t import_segment(int process, const ExportedMemory& memory) override;
  void release(std::uint64_t handle) override { host_vmm::release(handle); }
  char* reserve(std::size_t bytes) override { return host_vmm::reserve(bytes); }
  void unreserve(char* base, std::size_t bytes) override { host_vmm::unreserve(base, bytes); }
  void map(char* at, std::size_t bytes, std::uint64_t handle) override;
  void unmap(char* at, std::size_t bytes) override { host_vmm::unmap(at, bytes); }
  bool reaches(const void* address) override { return host_vmm::has_access(address, device_); }
  std::size_t granule() override { return host_vmm::kGranule; }
  char* make(std::size_t count) override;
  void destroy(char* base, std::size_t count) override;

  // A segment of this device, at reserved addresses.
  void map_new(char* at, std::size_t bytes);

  int mapped = 0;  // of other ranks' segments

 private:
  const int device_;
};

}  // namespace duet::nccl_shim::testing
