#pragma once

#include <memory>

#include "gemm/engine.h"

namespace duet {

// The GEMM engine of simulated machines. Its time comes from the platform's model; it computes
// products of small matrices only.
std::unique_ptr<GemmEngine> make_model_engine();

}  // namespace duet
