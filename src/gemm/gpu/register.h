#pragma once

#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

// Registers the reference on GPUs and the engines of the vendor's libraries, when the module of its
// devices is loaded.
void register_gemm();

}  // namespace duet::DUET_GPU
