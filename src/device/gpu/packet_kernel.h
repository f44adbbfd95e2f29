// A kernel by packets; its table lies in the kernel's parameters.
#pragma once

#include "device/gpu/collective_kernel.h"
#include "device/gpu/packet_kernel_table.h"

namespace duet::DUET_GPU {

class GpuPacketKernel : public GpuKernel {
 public:
  // The kernel is checked already.
  GpuPacketKernel(GpuDevice& device, const PacketKernel& kernel);

  void launch(gpuStream_t stream) const override;

 private:
  bool reduces_;
  DType dtype_;
  Reduction op_;
  int blocks_;
  Buffer calls_;
  gpu::PacketKernelTable table_;
};

}  // namespace duet::DUET_GPU
