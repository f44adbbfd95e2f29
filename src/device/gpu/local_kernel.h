#pragma once

#include "device/gpu/collective_kernel.h"
#include "device/gpu/local_kernel_table.h"

namespace duet::DUET_GPU {

// A local kernel. Its table is in device memory.
class GpuLocalKernel : public GpuKernel {
 public:
  // prepare_kernel() has already checked the arguments.
  GpuLocalKernel(GpuDevice& device, const LocalKernel& kernel);

  void launch(gpuStream_t stream) const override;

 private:
  DType dtype_;
  Reduction op_;
  int blocks_ = 0;
  bool adds_in_flight_ = false;
  Buffer memory_;  // everything that the table points to
  gpu::LocalKernelTable table_;
};

}  // namespace duet::DUET_GPU
