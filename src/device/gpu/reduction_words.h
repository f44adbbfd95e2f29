// The elements in a word of memory, as kernels reduce them: floating point is accumulated in fp32
// and rounded once; sums of int32 wrap around.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/reduction.h"
#include "core/sum.h"
#include "device/gpu/element.h"
#include "device/gpu/quad.h"
#include "device/gpu/vendor.h"

namespace duet::DUET_GPU {

__device__ inline std::uint32_t quarter(const Quad& quad, int i) {
  return i == 0 ? quad.x : i == 1 ? quad.y : i == 2 ? quad.z : quad.w;
}

// For each element type: how many elements are in 32 bits, the type in which they are accumulated,
// and how an element is extracted and inserted.
struct Fp32Lanes {
  using Element = std::uint32_t;
  using Value = float;
  static constexpr int kInWord = 1;
  static __device__ Value get(std::uint32_t word, int) { return gpu::from_bits(word); }
  static __device__ std::uint32_t put(Value value, int) { return gpu::float_bits(value); }
};
struct Fp16Lanes {
  using Element = std::uint16_t;
  using Value = float;
  static constexpr int kInWord = 2;
  static __device__ Value get(std::uint32_t word, int lane) {
    return gpu::from_fp16(static_cast<std::uint16_t>(word >> (16 * lane)));
  }
  static __device__ std::uint32_t put(Value value, int lane) {
    return std::uint32_t{gpu::to_fp16(value)} << (16 * lane);
  }
};
struct Bf16Lanes {
  using Element = std::uint16_t;
  using Value = float;
  static constexpr int kInWord = 2;
  static __device__ Value get(std::uint32_t word, int lane) {
    return gpu::from_bf16(static_cast<std::uint16_t>(word >> (16 * lane)));
  }
  static __device__ std::uint32_t put(Value value, int lane) {
    return std::uint32_t{gpu::to_bf16(value)} << (16 * lane);
  }
};
struct Int32Lanes {
  using Element = std::uint32_t;
  using Value = std::int32_t;
  static constexpr int kInWord = 1;
  static __device__ Value get(std::uint32_t word, int) { return static_cast<std::int32_t>(word); }
  static __device__ std::uint32_t put(Value value, int) {
    return static_cast<std::uint32_t>(value);
  }
};

// What a thread loads at a time: Vectors are 16 bytes, SingleWords one element, for addresses that
// are not aligned.
template <typename Type>
struct Vectors {
  using Word = Quad;
  using Lanes = Type;
  static constexpr int kCount = 4 * Type::kInWord;
  static __device__ typename Type::Value get(const Word& word, int i) {
    return Type::get(quarter(word, i / Type::kInWord), i % Type::kInWord);
  }
  static __device__ Word make(const typename Type::Value (&values)[kCount]) {
    std::uint32_t words[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      words[i / Type::kInWord] |= Type::put(values[i], i % Type::kInWord);
    }
    return Quad{words[0], words[1], words[2], words[3]};
  }
};
template <typename Type>
struct SingleWords {
  using Word = typename Type::Element;
  using Lanes = Type;
  static constexpr int kCount = 1;
  static __device__ typename Type::Value get(const Word& word, int) { return Type::get(word, 0); }
  static __device__ Word make(const typename Type::Value (&values)[1]) {
    return static_cast<Word>(Type::put(values[0], 0));
  }
};

struct Sum {
  template <typename Value>
  static __device__ Value of(Value a, Value b) {
    return sum_of(a, b);
  }
};
struct Max {
  template <typename Value>
  static __device__ Value of(Value a, Value b) {
    return a < b ? b : a;
  }
};
struct Min {
  template <typename Value>
  static __device__ Value of(Value a, Value b) {
    return b < a ? b : a;
  }
};

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
