// Which kernels reduce: of every type and operation that the drop-in takes over. An average is a
// sum that is divided.
#pragma once

// KERNEL(type, Lanes, operation, Op) for each: Lanes and Op of device/gpu/reduction_words.h, and
// the names by which KernelsByType finds them.
#define DUET_FOR_REDUCED_TYPE(KERNEL, type, Lanes) \
  KERNEL(type, Lanes, sum, Sum)                    \
  KERNEL(type, Lanes, max, Max)                    \
  KERNEL(type, Lanes, min, Min)
#define DUET_FOR_REDUCING_KERNELS(KERNEL)        \
  DUET_FOR_REDUCED_TYPE(KERNEL, fp32, Fp32Lanes) \
  DUET_FOR_REDUCED_TYPE(KERNEL, fp16, Fp16Lanes) \
  DUET_FOR_REDUCED_TYPE(KERNEL, bf16, Bf16Lanes) \
  DUET_FOR_REDUCED_TYPE(KERNEL, int32, Int32Lanes)
