// The kernels of collectives on a GPU: what the three kinds share.
#pragma once

#include <cstdint>
#include <memory>

#include "device/collective_kernel.h"
#include "device/gpu/device.h"

namespace duet::DUET_GPU {

class GpuKernel : public PreparedKernel {
 public:
  const GpuDevice& device() const { return device_; }
  virtual void launch(gpuStream_t stream) const = 0;

 protected:
  explicit GpuKernel(GpuDevice& device) : device_(device) {}

  GpuDevice& device_;
};

// As Device::prepare().
std::unique_ptr<GpuKernel> prepare_kernel(GpuDevice& device, const CollectiveKernel& kernel);

inline std::uintptr_t address(const Span& span) {
  return reinterpret_cast<std::uintptr_t>(span.data);
}

// By how many bytes the addresses are alike: 16, 4 or 1. Heads and tails of less than a vector are
// moved by narrower words.
std::uint32_t common_width(const KernelItem& item);

// The first block's part of the item, in vectors of 16 bytes.
std::uint32_t first_share(const KernelItem& item, int blocks);

}  // namespace duet::DUET_GPU
