// Duet's own CPU GEMM as an engine of host devices.
#pragma once

#include <memory>

#include "gemm/engine.h"

namespace duet {

std::unique_ptr<GemmEngine> make_cpu_engine();  // "duet"

}  // namespace duet
