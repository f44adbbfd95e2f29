// Loading one kernel ahead of its first launch, for the files that define kernels.
#pragma once

#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

// Asking for its attributes makes the runtime load it.
template <typename... Arguments>
void load_kernel(void (*kernel)(Arguments...)) {
  gpuFuncAttributes attributes;
  DUET_GPU_CHECK(gpuFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)));
}

}  // namespace duet::DUET_GPU
