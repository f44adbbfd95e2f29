// An exchange of a GPU: its table in device memory, ready for the kernel.
#pragma once

#include "device/exchange.h"
#include "device/gpu/device.h"
#include "device/gpu/exchange_table.h"

namespace duet::DUET_GPU {

class GpuExchange : public PreparedExchange {
 public:
  GpuExchange(GpuDevice& device, const Exchange& exchange);

  const GpuDevice& device() const { return device_; }
  void launch(gpuStream_t stream) const;

 private:
  void check(const Exchange& exchange) const;

  GpuDevice& device_;
  DType dtype_;
  Reduction op_;
  int blocks_ = 0;
  Buffer memory_;  // of all that the table points to
  gpu::ExchangeTable table_;
};

}  // namespace duet::DUET_GPU
