#pragma once

#include "device/gpu/vendor.h"
#include "gemm/engine.h"

namespace duet::DUET_GPU {

// The GemmReference for a vendor's GPUs.
std::vector<double> reference_by_gpu(Device& device, const GemmProblem& problem,
                                     const GemmBuffers& buffers,
                                     const std::vector<std::int64_t>& rows);

// The rows of C that one launch computes. `out` is (count, N) in device memory.
struct ReferenceRows {
  static constexpr int most = 8;
  std::int64_t row[most] = {};
  int count = 0;
};
void launch_reference(const GemmProblem& problem, const GemmBuffers& buffers,
                      const ReferenceRows& rows, double* out, gpuStream_t stream);

}  // namespace duet::DUET_GPU
