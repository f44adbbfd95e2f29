#pragma once

#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

// Registers the vendor's GEMM engines when the module is loaded. The symbol is weak: a module that
// is built without GEMM engines leaves it undefined and still loads.
__attribute__((weak)) void register_gpu_gemm();
// Likewise, the operations of training.
__attribute__((weak)) void register_gpu_training();
// Likewise, the sweeps of halo exchange.
__attribute__((weak)) void register_gpu_halo();

}  // namespace duet::DUET_GPU
