#pragma once

#include "core/dtype.h"
#include "core/reduction.h"
#include "device/gpu/reduction_words.h"

namespace duet::DUET_GPU {

// Chooses the kernel `Family::kernel<Type, Op>` for an element type and an operation.
template <typename Family, typename Type>
auto kernel_of(Reduction op) {
  if (op == Reduction::max) return Family::template kernel<Type, Max>;
  if (op == Reduction::min) return Family::template kernel<Type, Min>;
  return Family::template kernel<Type, Sum>;
}

// Calls that only copy may have any element type; types without a kernel use the fp32 kernel.
template <typename Family>
auto kernel_for(DType dtype, Reduction op) {
  if (dtype == DType::fp16) return kernel_of<Family, Fp16Lanes>(op);
  if (dtype == DType::bf16) return kernel_of<Family, Bf16Lanes>(op);
  if (dtype == DType::int32) return kernel_of<Family, Int32Lanes>(op);
  return kernel_of<Family, Fp32Lanes>(op);
}

}  // namespace duet::DUET_GPU
