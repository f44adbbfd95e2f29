// A kernel on one device; its table lies in device memory.
#pragma once

#include "device/gpu/collective_kernel.h"
#include "device/gpu/local_kernel_table.h"

namespace duet::DUET_GPU {

class GpuLocalKernel : public GpuKernel {
 public:
  // The kernel is checked already.
  GpuLocalKernel(GpuDevice& device, const LocalKernel& kernel);

  void launch(gpuStream_t stream) const override;

 private:
  DType dtype_;
  Reduction op_;
  int blocks_ = 0;
  Buffer memory_;  // of all that the table points to
  gpu::LocalKernelTable table_;
};

}  // namespace duet::DUET_GPU
