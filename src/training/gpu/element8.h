// Eight neighbouring elements of a row, which a thread loads, computes in fp32 and stores at once:
// 16 bytes of bf16, 32 bytes of fp32. Rows and columns are multiples of eight.
#pragma once

#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <cstdint>
#include <string>

#include "core/error.h"
#include "device/gpu/element.h"
#include "device/gpu/vendor.h"
#include "training/operations/quantised.h"
#include "training/operations/tensor.h"

namespace duet::DUET_GPU {

struct Bf16 {
  std::uint16_t bits;
};

struct Words4 {
  alignas(16) std::uint32_t word[4];
};

// Eight elements as they lie in memory.
template <typename T>
struct Packed8 {
  static constexpr int kParts = static_cast<int>(8 * sizeof(T) / sizeof(Words4));
  Words4 part[kParts];
};

template <typename T>
__device__ Packed8<T> load_packed(const T* from) {
  return *reinterpret_cast<const Packed8<T>*>(from);
}

__device__ inline std::uint32_t two_bf16(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  std::uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
#else
  return gpu::to_bf16(low) | static_cast<std::uint32_t>(gpu::to_bf16(high)) << 16;
#endif
}

__device__ inline void unpack(const Packed8<Bf16>& packed, float (&value)[8]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t both = packed.part[0].word[i];
    value[2 * i] = gpu::from_bits(both << 16);
    value[2 * i + 1] = gpu::from_bits(both & 0xFFFF0000u);
  }
}

__device__ inline void unpack(const Packed8<float>& packed, float (&value)[8]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) value[i] = gpu::from_bits(packed.part[i / 4].word[i % 4]);
}

template <typename T>
__device__ void load8(const T* from, float (&value)[8]) {
  unpack(load_packed(from), value);
}

__device__ inline Packed8<Bf16> packed(const Bf16*, const float (&value)[8]) {
  Packed8<Bf16> all;
#pragma unroll
  for (int i = 0; i < 4; ++i) all.part[0].word[i] = two_bf16(value[2 * i], value[2 * i + 1]);
  return all;
}

__device__ inline Packed8<float> packed(const float*, const float (&value)[8]) {
  Packed8<float> all;
#pragma unroll
  for (int i = 0; i < 8; ++i) all.part[i / 4].word[i % 4] = gpu::float_bits(value[i]);
  return all;
}

template <typename T>
__device__ void store8(T* to, const float (&value)[8]) {
  *reinterpret_cast<Packed8<T>*>(to) = packed(to, value);
}

// Formats of fp8: two values as two bytes, the first below, saturated.
struct E4M3 {
  static constexpr float kLargest = kLargestE4M3;
  __device__ static std::uint32_t two(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    std::uint16_t both;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(high), "f"(low));
    return both;
#else
    return gpu::to_fp8_e4m3(low) | static_cast<std::uint32_t>(gpu::to_fp8_e4m3(high)) << 8;
#endif
  }
};

struct E5M2 {
  static constexpr float kLargest = kLargestE5M2;
  __device__ static std::uint32_t two(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    std::uint16_t both;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(both) : "f"(high), "f"(low));
    return both;
#else
    return gpu::to_fp8_e5m2(low) | static_cast<std::uint32_t>(gpu::to_fp8_e5m2(high)) << 8;
#endif
  }
};

struct Words2 {
  alignas(8) std::uint32_t word[2];
};

// Eight elements times `factor`.
template <typename Format>
__device__ Words2 packed_fp8(const float (&value)[8], float factor) {
  Words2 all;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float* const v = value + 4 * half;
    all.word[half] =
        Format::two(v[0] * factor, v[1] * factor) | Format::two(v[2] * factor, v[3] * factor) << 16;
  }
  return all;
}

__device__ inline float as_float(float value) { return value; }
__device__ inline float as_float(Bf16 value) { return gpu::from_bf16(value.bits); }

__device__ inline void store_one(float* to, float value) { *to = value; }
__device__ inline void store_one(Bf16* to, float value) { to->bits = gpu::to_bf16(value); }

template <typename T>
T* data(const Tensor& tensor) {
  return reinterpret_cast<T*>(tensor.span.data);
}

// Calls launch(T{}) with the element type of a tensor.
template <typename Launch>
void by_type(DType dtype, const Launch& launch) {
  if (dtype == DType::fp32) return launch(float{});
  if (dtype == DType::bf16) return launch(Bf16{});
  throw BadArgument(std::string("training on GPUs: expected fp32 or bf16, not ") +
                    std::string(name(dtype)));
}

}  // namespace duet::DUET_GPU
