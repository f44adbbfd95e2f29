// What a vendor's module brings when it is loaded, besides its devices.
#pragma once

#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

// Registers the vendor's GEMM engines. Weak: a module that is built without them leaves it
// undefined, and loads all the same.
__attribute__((weak)) void register_gpu_gemm();

}  // namespace duet::DUET_GPU
