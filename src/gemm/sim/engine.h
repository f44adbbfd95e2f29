#pragma once

#include <memory>

#include "gemm/grouped.h"

namespace duet {

// The GEMM engine of simulated machines. Its time comes from the platform's model; it computes
// products of small matrices only.
std::unique_ptr<GemmEngine> make_model_engine();
// The same for groups by one kernel.
std::unique_ptr<GroupedGemmEngine> make_grouped_model_engine();

}  // namespace duet
