// Called when a GPU vendor's module is loaded.
#pragma once

#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

void register_lt_engines();  // cublaslt-tuned and cublaslt, or hipblaslt-tuned and hipblaslt

}  // namespace duet::DUET_GPU
