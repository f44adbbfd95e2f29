// Fills memory with digits and compares memory with digits, element by element; one kernel per
// type.
#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "device/digits.h"
#include "device/gpu/element.h"
#include "device/gpu/kernels.h"
#include "device/gpu/load_kernel.h"

namespace duet::DUET_GPU {
namespace {

constexpr unsigned kBlock = 256;
constexpr std::uint64_t kMostBlocks = 4096;  // more than any device runs at once

struct Fp32 {
  using Element = float;
  static __device__ Element from(float value) { return value; }
  static __device__ float to(Element element) { return element; }
};
struct Fp16 {
  using Element = std::uint16_t;
  static __device__ Element from(float value) { return gpu::to_fp16(value); }
  static __device__ float to(Element element) { return gpu::from_fp16(element); }
};
struct Bf16 {
  using Element = std::uint16_t;
  static __device__ Element from(float value) { return gpu::to_bf16(value); }
  static __device__ float to(Element element) { return gpu::from_bf16(element); }
};
struct Fp8 {
  using Element = std::uint8_t;
  static __device__ Element from(float value) { return gpu::to_fp8_e4m3(value); }
  static __device__ float to(Element element) { return gpu::from_fp8_e4m3(element); }
};
// Digits and their reductions are small whole numbers, which float represents exactly. A wrong
// large value stays large when it is rounded to float, so the comparison finds it.
struct Int8 {
  using Element = std::int8_t;
  static __device__ Element from(float value) { return static_cast<Element>(value); }
  static __device__ float to(Element element) { return static_cast<float>(element); }
};
struct Int32 {
  using Element = std::int32_t;
  static __device__ Element from(float value) { return static_cast<Element>(value); }
  static __device__ float to(Element element) { return static_cast<float>(element); }
};

// The elements of a span. The first of them has the index `first` in the sequence of digits.
template <typename Type>
struct Elements {
  typename Type::Element* data;
  std::uint64_t count;
  std::uint64_t first;
};

template <typename Type>
__global__ void digits_kernel(Elements<Type> to, Digits digits) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < to.count;
       i += stride) {
    to.data[i] = Type::from(digit_at(digits, to.first + i));
  }
}

template <typename Type>
__global__ void check_digits_kernel(Elements<Type> in, Digits digits, float unit,
                                    Difference* result) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  unsigned long long count = 0, first = ~0ull;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < in.count;
       i += stride) {
    const float expected = Type::to(Type::from(digit_at(digits, in.first + i)));
    const float found = Type::to(in.data[i]);
    // The comparison is false for NaN, which therefore counts as a difference.
    if (fabsf(found - expected) <= digit_tolerance(digits, expected, unit)) continue;
    if (count++ == 0) first = i * sizeof(typename Type::Element);
  }
  if (count == 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&result->count), count);
  atomicMin(reinterpret_cast<unsigned long long*>(&result->first_offset), first);
}

template <typename Type>
Elements<Type> elements_of(const Span& span, const Fill& fill) {
  using Element = typename Type::Element;
  return {reinterpret_cast<Element*>(span.data), span.bytes / sizeof(Element),
          fill.offset / sizeof(Element)};
}

dim3 grid_for(std::uint64_t items) {
  const std::uint64_t blocks = (items + kBlock - 1) / kBlock;
  return dim3(static_cast<unsigned>(std::clamp<std::uint64_t>(blocks, 1, kMostBlocks)));
}

// Calls `launch` with a value of the struct above that represents `dtype`.
template <typename Launch>
void with_type(DType dtype, Launch launch) {
  switch (dtype) {
    case DType::fp32:
    case DType::tf32:
      return launch(Fp32{});
    case DType::fp16:
      return launch(Fp16{});
    case DType::bf16:
      return launch(Bf16{});
    case DType::fp8_e4m3:
      return launch(Fp8{});
    case DType::int8:
      return launch(Int8{});
    case DType::int32:
      return launch(Int32{});
    case DType::fp8_e5m2:
      break;
  }
  throw BadArgument("digits: not a type that is reduced");
}

}  // namespace

void launch_digits(const Span& span, const Fill& fill, gpuStream_t stream) {
  with_type(fill.dtype, [&](auto type) {
    using Type = decltype(type);
    const Elements<Type> to = elements_of<Type>(span, fill);
    digits_kernel<Type><<<grid_for(to.count), dim3(kBlock), 0, stream>>>(to, digits_of(fill));
  });
  DUET_GPU_CHECK(GPU(GetLastError)());
}

void launch_digits_check(const Span& span, const Fill& fill, Difference* found,
                         gpuStream_t stream) {
  with_type(fill.dtype, [&](auto type) {
    using Type = decltype(type);
    const Elements<Type> in = elements_of<Type>(span, fill);
    check_digits_kernel<Type><<<grid_for(in.count), dim3(kBlock), 0, stream>>>(
        in, digits_of(fill), unit_of(fill.dtype), found);
  });
  DUET_GPU_CHECK(GPU(GetLastError)());
}

void load_digit_kernels() {
  for (const DType dtype : all_dtypes()) {
    with_type(dtype, [](auto type) {
      load_kernel(digits_kernel<decltype(type)>);
      load_kernel(check_digits_kernel<decltype(type)>);
    });
  }
}

}  // namespace duet::DUET_GPU
