// Copies by compute units. Over a link the number of bytes in flight limits the rate, so loads and
// stores are wide and several of them are in flight per thread.
#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <cstdint>

#include "device/gpu/kernels.h"
#include "device/gpu/load_kernel.h"
#include "device/gpu/quad.h"

namespace duet::DUET_GPU {
namespace {

#ifdef DUET_GPU_HIP
#define DUET_ONE_WARP_KERNEL __launch_bounds__(kWarp)
constexpr int kWarp = 64;
#else
#define DUET_ONE_WARP_KERNEL __maxnreg__(32)
constexpr int kWarp = 32;
#endif

constexpr int kUnroll = 8;         // loads in flight per thread
constexpr int kOneWarpUnroll = 4;  // the same for one_warp_copy_kernel
constexpr int kMaxThreads = 1024;  // per block

// A copy divided into bytes before the first aligned address, `count` vectors, and bytes after
// them.
struct Pieces {
  unsigned char* to;
  const unsigned char* from;
  std::uint64_t head;
  std::uint64_t count;
  std::uint64_t tail;
};

template <typename Vector>
__device__ void copy_ends(const Pieces& p, std::uint64_t thread, std::uint64_t stride) {
  for (std::uint64_t i = thread; i < p.head; i += stride) p.to[i] = p.from[i];
  const std::uint64_t done = p.head + p.count * sizeof(Vector);
  for (std::uint64_t i = thread; i < p.tail; i += stride) p.to[done + i] = p.from[done + i];
}

// Consecutive threads of the whole grid copy consecutive vectors, so that small copies use all
// compute units.
template <typename Vector, int Unroll>
__device__ void copy_pieces(const Pieces& p) {
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  const Vector* const from = reinterpret_cast<const Vector*>(p.from + p.head);
  Vector* const to = reinterpret_cast<Vector*>(p.to + p.head);
  std::uint64_t i = thread;
  for (; i + (Unroll - 1) * stride < p.count; i += Unroll * stride) {
    Vector held[Unroll];
#pragma unroll
    for (int k = 0; k < Unroll; ++k) held[k] = from[i + k * stride];
#pragma unroll
    for (int k = 0; k < Unroll; ++k) to[i + k * stride] = held[k];
  }
  // The vectors that remain after the last full round; their loads are in flight together too.
  Vector held[Unroll];
#pragma unroll
  for (int k = 0; k < Unroll; ++k) {
    if (i + k * stride < p.count) held[k] = from[i + k * stride];
  }
#pragma unroll
  for (int k = 0; k < Unroll; ++k) {
    if (i + k * stride < p.count) to[i + k * stride] = held[k];
  }
  copy_ends<Vector>(p, thread, stride);
}

template <typename Vector>
__global__ void __launch_bounds__(kMaxThreads) copy_kernel(Pieces p) {
  copy_pieces<Vector, kUnroll>(p);
}

// On NVIDIA the kernel uses 32 x 32 registers of an SM: that many are free beside cuBLAS's GEMMs
// (tests/gpu/one_warp_copy_test.cc).
template <typename Vector>
__global__ void DUET_ONE_WARP_KERNEL one_warp_copy_kernel(Pieces p) {
  copy_pieces<Vector, kOneWarpUnroll>(p);
}

template <typename Vector>
Pieces pieces_of(const Copy& copy) {
  const std::uint64_t bytes = copy.destination.bytes;
  auto* const to = reinterpret_cast<unsigned char*>(copy.destination.data);
  const auto* const from = reinterpret_cast<const unsigned char*>(copy.source.data);
  std::uint64_t head =
      (sizeof(Vector) - reinterpret_cast<std::uintptr_t>(to) % sizeof(Vector)) % sizeof(Vector);
  if (head > bytes) head = bytes;
  const std::uint64_t count = (bytes - head) / sizeof(Vector);
  const std::uint64_t tail = bytes - head - count * sizeof(Vector);
  return {to, from, head, count, tail};
}

template <typename Vector>
void launch(const Copy& copy, gpuStream_t stream) {
  const dim3 grid(static_cast<unsigned>(copy.shape.grid));
  if (copy.shape.one_warp_per_sm) {
    one_warp_copy_kernel<Vector><<<grid, dim3(kWarp), 0, stream>>>(pieces_of<Vector>(copy));
  } else {
    const dim3 block(static_cast<unsigned>(copy.shape.block));
    copy_kernel<Vector><<<grid, block, 0, stream>>>(pieces_of<Vector>(copy));
  }
  DUET_GPU_CHECK(GPU(GetLastError)());
}

template <typename Vector>
void load() {
  load_kernel(copy_kernel<Vector>);
  load_kernel(one_warp_copy_kernel<Vector>);
}

}  // namespace

// Uses the widest vector to which source and destination can be aligned at the same offset.
void launch_copy(const Copy& copy, gpuStream_t stream) {
  const std::uintptr_t apart = reinterpret_cast<std::uintptr_t>(copy.destination.data) ^
                               reinterpret_cast<std::uintptr_t>(copy.source.data);
  if (apart % 16 == 0) return launch<Quad>(copy, stream);
  if (apart % 8 == 0) return launch<std::uint64_t>(copy, stream);
  if (apart % 4 == 0) return launch<std::uint32_t>(copy, stream);
  if (apart % 2 == 0) return launch<std::uint16_t>(copy, stream);
  return launch<std::uint8_t>(copy, stream);
}

void load_copy_kernels() {
  load<Quad>();
  load<std::uint64_t>();
  load<std::uint32_t>();
  load<std::uint16_t>();
  load<std::uint8_t>();
}

}  // namespace duet::DUET_GPU
