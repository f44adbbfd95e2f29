// Choosing a cuBLASLt algorithm by running it on the real input.
#pragma once

#include "gemm/cublas/lt_problem.h"

namespace duet::cuda {

// Throws Unavailable if no algorithm runs.
LtAlgorithm tune(GpuDevice& device, const LtProblem& problem, const GemmBuffers& buffers,
                 const Tuning& tuning);

}  // namespace duet::cuda
