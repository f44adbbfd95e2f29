#pragma once

#include "gemm/lt/problem.h"

namespace duet::DUET_GPU {

// Chooses the fastest algorithm by running candidates on the real input. Blocks for about
// tuning.seconds. Throws Unavailable if no algorithm runs.
LtAlgorithm tune(GpuDevice& device, const LtProblem& problem, const GemmBuffers& buffers,
                 const Tuning& tuning);

}  // namespace duet::DUET_GPU
