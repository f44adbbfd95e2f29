#pragma once

#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

// Loads a kernel before its first launch: a query of its attributes makes the runtime load it.
template <typename... Arguments>
void load_kernel(void (*kernel)(Arguments...)) {
  GPU(FuncAttributes) attributes;
  DUET_GPU_CHECK(GPU(FuncGetAttributes)(&attributes, reinterpret_cast<const void*>(kernel)));
}

}  // namespace duet::DUET_GPU
