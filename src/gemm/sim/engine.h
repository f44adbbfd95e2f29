// The GEMM engine of simulated machines: time from the platform's model, products of small
// matrices.
#pragma once

#include <memory>

#include "gemm/engine.h"

namespace duet {

std::unique_ptr<GemmEngine> make_model_engine();

}  // namespace duet
