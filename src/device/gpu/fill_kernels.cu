// Fills memory with known contents and compares memory with them. The code makes no assumption
// about the number of threads that run in lockstep, which differs between the vendors.
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
#include "device/gpu/sequence.h"

namespace duet::DUET_GPU {
namespace {

constexpr unsigned kBlock = 256;
constexpr std::uint64_t kMostBlocks = 4096;  // more than any device runs at once

// A span divided into bytes before the first address that is aligned to 8, words of 8 bytes, and
// the bytes after them.
struct Words {
  unsigned char* data;
  std::uint64_t head;
  std::uint64_t count;
  std::uint64_t bytes;
};

struct GridPosition {
  std::uint64_t thread;
  std::uint64_t stride;
};

__device__ GridPosition my_position() {
  return {std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x,
          std::uint64_t{gridDim.x} * blockDim.x};
}

__global__ void fill_kernel(Words w, gpu::ByteSequence sequence) {
  const GridPosition my = my_position();
  auto* const words = reinterpret_cast<std::uint64_t*>(w.data + w.head);
  for (std::uint64_t i = my.thread; i < w.count; i += my.stride) {
    words[i] = gpu::word_at(sequence, w.head + 8 * i);
  }
  for (std::uint64_t i = my.thread; i < w.head; i += my.stride) {
    w.data[i] = gpu::byte_at(sequence, i);
  }
  for (std::uint64_t i = w.head + 8 * w.count + my.thread; i < w.bytes; i += my.stride) {
    w.data[i] = gpu::byte_at(sequence, i);
  }
}

// The differences that one thread has found.
struct Finding {
  unsigned long long count = 0;
  unsigned long long first = ~0ull;

  __device__ void compare(std::uint64_t offset, unsigned char found, unsigned char expected) {
    if (found == expected) return;
    ++count;
    if (offset < first) first = offset;
  }
  __device__ void add_to(Difference* result) const {
    if (count == 0) return;
    atomicAdd(reinterpret_cast<unsigned long long*>(&result->count), count);
    atomicMin(reinterpret_cast<unsigned long long*>(&result->first_offset), first);
  }
};

__global__ void check_kernel(Words w, gpu::ByteSequence sequence, Difference* result) {
  const GridPosition my = my_position();
  Finding finding;
  const auto* const words = reinterpret_cast<const std::uint64_t*>(w.data + w.head);
  for (std::uint64_t i = my.thread; i < w.count; i += my.stride) {
    const std::uint64_t at = w.head + 8 * i;
    const std::uint64_t found = words[i];
    const std::uint64_t expected = gpu::word_at(sequence, at);
    if (found == expected) continue;
    for (int k = 0; k < 8; ++k) {
      finding.compare(at + k, static_cast<unsigned char>(found >> (8 * k)),
                      static_cast<unsigned char>(expected >> (8 * k)));
    }
  }
  for (std::uint64_t i = my.thread; i < w.head; i += my.stride) {
    finding.compare(i, w.data[i], gpu::byte_at(sequence, i));
  }
  for (std::uint64_t i = w.head + 8 * w.count + my.thread; i < w.bytes; i += my.stride) {
    finding.compare(i, w.data[i], gpu::byte_at(sequence, i));
  }
  finding.add_to(result);
}

// `words` words of 8 bytes, which must then be aligned in both, and the bytes after them.
__global__ void compare_kernel(const unsigned char* data, const unsigned char* other,
                               std::uint64_t words, std::uint64_t bytes, Difference* result) {
  const GridPosition my = my_position();
  Finding finding;
  const auto* const found = reinterpret_cast<const std::uint64_t*>(data);
  const auto* const expected = reinterpret_cast<const std::uint64_t*>(other);
  for (std::uint64_t i = my.thread; i < words; i += my.stride) {
    if (found[i] == expected[i]) continue;
    for (int k = 0; k < 8; ++k) {
      finding.compare(8 * i + k, data[8 * i + k], other[8 * i + k]);
    }
  }
  for (std::uint64_t i = 8 * words + my.thread; i < bytes; i += my.stride) {
    finding.compare(i, data[i], other[i]);
  }
  finding.add_to(result);
}

struct ToFloat {
  __device__ float operator()(float value) const { return value; }
};
struct ToFp16 {
  __device__ std::uint16_t operator()(float value) const { return gpu::to_fp16(value); }
};
struct ToBf16 {
  __device__ std::uint16_t operator()(float value) const { return gpu::to_bf16(value); }
};
struct ToFp8 {
  __device__ std::uint8_t operator()(float value) const {
    const std::uint8_t bits = gpu::to_fp8_e4m3(value);
    return bits == 0x80 ? 0 : bits;  // no negative zero
  }
};
struct ToInt8 {
  __device__ std::int8_t operator()(float value) const {
    return static_cast<std::int8_t>(gpu::to_integer(16.0f * value, 127.0f));
  }
};
struct ToInt32 {
  __device__ std::int32_t operator()(float value) const {
    return gpu::to_integer(16.0f * value, 2147483520.0f);
  }
};

template <typename Element, typename Convert>
__global__ void normal_kernel(Element* to, std::uint64_t count, std::uint64_t seed) {
  const GridPosition my = my_position();
  for (std::uint64_t i = my.thread; i < count; i += my.stride) {
    to[i] = Convert{}(random_normal(seed, i));
  }
}

dim3 grid_for(std::uint64_t items) {
  const std::uint64_t blocks = (items + kBlock - 1) / kBlock;
  return dim3(static_cast<unsigned>(std::clamp<std::uint64_t>(blocks, 1, kMostBlocks)));
}

Words words_of(const Span& span) {
  auto* const data = reinterpret_cast<unsigned char*>(span.data);
  const std::uint64_t bytes = span.bytes;
  const std::uint64_t before = (8 - reinterpret_cast<std::uintptr_t>(data) % 8) % 8;
  const std::uint64_t head = std::min(before, bytes);
  return {data, head, (bytes - head) / 8, bytes};
}

template <typename Element, typename Convert>
void launch_normal(const Span& span, std::uint64_t seed, gpuStream_t stream) {
  const std::uint64_t count = span.bytes / sizeof(Element);
  normal_kernel<Element, Convert><<<grid_for(count), dim3(kBlock), 0, stream>>>(
      reinterpret_cast<Element*>(span.data), count, seed);
}

void launch_normal_of(DType type, const Span& span, std::uint64_t seed, gpuStream_t stream) {
  switch (type) {
    case DType::fp32:
    case DType::tf32:
      return launch_normal<float, ToFloat>(span, seed, stream);
    case DType::fp16:
      return launch_normal<std::uint16_t, ToFp16>(span, seed, stream);
    case DType::bf16:
      return launch_normal<std::uint16_t, ToBf16>(span, seed, stream);
    case DType::fp8_e4m3:
      return launch_normal<std::uint8_t, ToFp8>(span, seed, stream);
    case DType::int8:
      return launch_normal<std::int8_t, ToInt8>(span, seed, stream);
    case DType::int32:
      return launch_normal<std::int32_t, ToInt32>(span, seed, stream);
    case DType::fp8_e5m2:
      break;
  }
  throw BadArgument("fill: not a type that buffers are filled with");
}

}  // namespace

void launch_fill(const Span& span, const Fill& fill, gpuStream_t stream) {
  if (is_digits(fill)) return launch_digits(span, fill, stream);
  if (fill.kind == FillKind::normal) {
    launch_normal_of(fill.dtype, span, fill.seed, stream);
  } else {
    const Words words = words_of(span);
    fill_kernel<<<grid_for(words.count), dim3(kBlock), 0, stream>>>(words, gpu::bytes_of(fill));
  }
  DUET_GPU_CHECK(GPU(GetLastError)());
}

void launch_check(const Span& span, const Fill& fill, Difference* found, gpuStream_t stream) {
  if (is_digits(fill)) return launch_digits_check(span, fill, found, stream);
  const Words words = words_of(span);
  check_kernel<<<grid_for(words.count), dim3(kBlock), 0, stream>>>(words, gpu::bytes_of(fill),
                                                                   found);
  DUET_GPU_CHECK(GPU(GetLastError)());
}

void launch_compare(const Span& span, const Span& other, Difference* found, gpuStream_t stream) {
  const auto* const data = reinterpret_cast<const unsigned char*>(span.data);
  const auto* const expected = reinterpret_cast<const unsigned char*>(other.data);
  const bool aligned =
      (reinterpret_cast<std::uintptr_t>(data) | reinterpret_cast<std::uintptr_t>(expected)) % 8 ==
      0;
  const std::uint64_t words = aligned ? span.bytes / 8 : 0;
  compare_kernel<<<grid_for(aligned ? words : span.bytes), dim3(kBlock), 0, stream>>>(
      data, expected, words, span.bytes, found);
  DUET_GPU_CHECK(GPU(GetLastError)());
}

void load_fill_kernels() {
  load_kernel(fill_kernel);
  load_kernel(check_kernel);
  load_kernel(compare_kernel);
  load_kernel(normal_kernel<float, ToFloat>);
  load_kernel(normal_kernel<std::uint16_t, ToFp16>);
  load_kernel(normal_kernel<std::uint16_t, ToBf16>);
  load_kernel(normal_kernel<std::uint8_t, ToFp8>);
  load_kernel(normal_kernel<std::int8_t, ToInt8>);
  load_kernel(normal_kernel<std::int32_t, ToInt32>);
}

}  // namespace duet::DUET_GPU
