// An exchange without peers: its table in device memory.
#pragma once

#include "device/gpu/exchange.h"
#include "device/gpu/exchange_table.h"

namespace duet::DUET_GPU {

class LocalExchange : public GpuExchange {
 public:
  // The exchange is checked already.
  LocalExchange(GpuDevice& device, const Exchange& exchange);

  void launch(gpuStream_t stream) const override;

 private:
  DType dtype_;
  Reduction op_;
  int blocks_ = 0;
  Buffer memory_;  // of all that the table points to
  gpu::ExchangeTable table_;
};

}  // namespace duet::DUET_GPU
