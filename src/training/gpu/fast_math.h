// Functions that GPUs have an instruction for, to a few units in the last place.
#pragma once

#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <cmath>

namespace duet::DUET_GPU {

// 2^x; 0 where the result is below the smallest normal number.
__device__ inline float fast_exp2(float x) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#elif defined(__HIP_DEVICE_COMPILE__)
  return exp2f(x);
#else
  return std::exp2(x);
#endif
}

__device__ inline float fast_sqrt(float x) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#elif defined(__HIP_DEVICE_COMPILE__)
  return __ocml_native_sqrt_f32(x);
#else
  return std::sqrt(x);
#endif
}

}  // namespace duet::DUET_GPU
