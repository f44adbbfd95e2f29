// An exchange of a GPU, ready for one of three kernels: of items in turn, beside each other with
// peers, or by way of staging memory.
#pragma once

#include <cstdint>
#include <memory>

#include "device/exchange.h"
#include "device/gpu/device.h"

namespace duet::DUET_GPU {

class GpuExchange : public PreparedExchange {
 public:
  const GpuDevice& device() const { return device_; }
  virtual void launch(gpuStream_t stream) const = 0;

 protected:
  explicit GpuExchange(GpuDevice& device) : device_(device) {}

  GpuDevice& device_;
};

// As Device::prepare().
std::unique_ptr<GpuExchange> prepare_exchange(GpuDevice& device, const Exchange& exchange);

inline std::uintptr_t address(const Span& span) {
  return reinterpret_cast<std::uintptr_t>(span.data);
}

// By how many bytes the addresses are alike: 16, 4 or 1. Heads and tails of less than a vector are
// moved by narrower words.
std::uint32_t common_width(const ExchangeItem& item);

// The first block's part of the item, in vectors of 16 bytes.
std::uint32_t first_share(const ExchangeItem& item, int blocks);

}  // namespace duet::DUET_GPU
