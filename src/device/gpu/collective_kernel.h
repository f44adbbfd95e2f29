#pragma once

#include <cstdint>
#include <memory>

#include "device/collective_kernel.h"
#include "device/gpu/device.h"

namespace duet::DUET_GPU {

// The base class of local, peer and packet kernels.
class GpuKernel : public PreparedKernel {
 public:
  const GpuDevice& device() const { return device_; }
  virtual void launch(gpuStream_t stream) const = 0;

 protected:
  explicit GpuKernel(GpuDevice& device) : device_(device) {}

  GpuDevice& device_;
};

// Implements Device::prepare().
std::unique_ptr<GpuKernel> prepare_kernel(GpuDevice& device, const CollectiveKernel& kernel);

inline std::uintptr_t address(const Span& span) {
  return reinterpret_cast<std::uintptr_t>(span.data);
}

// The widest word, in bytes (16, 4 or 1), to which all addresses of the item can be aligned at the
// same offset. The kernel moves a head and a tail that are shorter than a vector by narrower words.
std::uint32_t common_width(const KernelItem& item);

// The length of the first block's slice of the item, in vectors of 16 bytes.
std::uint32_t first_share(const KernelItem& item, int blocks);

}  // namespace duet::DUET_GPU
