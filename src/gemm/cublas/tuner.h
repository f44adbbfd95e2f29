#pragma once

#include "gemm/cublas/lt_problem.h"

namespace duet::cuda {

// Chooses the fastest cuBLASLt algorithm by running candidates on the real input. Blocks for about
// tuning.seconds. Throws Unavailable if no algorithm runs.
LtAlgorithm tune(GpuDevice& device, const LtProblem& problem, const GemmBuffers& buffers,
                 const Tuning& tuning);

}  // namespace duet::cuda
