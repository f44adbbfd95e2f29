#pragma once

#include "device/gpu/collective_kernel.h"
#include "device/gpu/packet_table.h"

namespace duet::DUET_GPU {

// A packet kernel. Its table is a kernel parameter.
class GpuPacketKernel : public GpuKernel {
 public:
  // prepare_kernel() has already checked the arguments.
  GpuPacketKernel(GpuDevice& device, const PacketKernel& kernel);

  void launch(gpuStream_t stream) const override;

 private:
  bool reduces_;
  DType dtype_;
  Reduction op_;
  Buffer last_;
  gpu::PacketKernelTable table_{};
};

}  // namespace duet::DUET_GPU
