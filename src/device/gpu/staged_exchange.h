// An exchange by way of staging memory: its table in the kernel's parameters.
#pragma once

#include "device/gpu/exchange.h"
#include "device/gpu/staged_table.h"

namespace duet::DUET_GPU {

class StagedExchange : public GpuExchange {
 public:
  // The exchange is checked already and has its staged way.
  StagedExchange(GpuDevice& device, const Exchange& exchange);

  void launch(gpuStream_t stream) const override;

 private:
  bool reduces_;
  DType dtype_;
  Reduction op_;
  int blocks_;
  Buffer calls_;
  gpu::StagedTable table_;
};

}  // namespace duet::DUET_GPU
