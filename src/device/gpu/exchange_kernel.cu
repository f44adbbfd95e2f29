// One launch that meets its peers, moves and reduces: each block its slice of every item.
#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <cstdint>

#include "device/exchange.h"
#include "device/gpu/exchange_meeting.h"
#include "device/gpu/exchange_piece.h"
#include "device/gpu/kernels.h"
#include "device/gpu/load_kernel.h"

namespace duet::DUET_GPU {
namespace {

// A slice as a head up to the first address that is a multiple of the width, words, and a tail.
struct Cut {
  Piece head, words, tail;  // heads and tails count in units of `unit` bytes
};

__device__ Cut cut(Piece piece, std::uint64_t bytes, unsigned width, unsigned unit) {
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(piece.sources[0]) + piece.offset;
  std::uint64_t head = (width - address % width) % width;
  if (head > bytes) head = bytes;
  const std::uint64_t words = (bytes - head) / width;
  Cut result{piece, piece, piece};
  result.head.count = head / unit;
  result.words.offset = piece.offset + head;
  result.words.count = words;
  result.tail.offset = result.words.offset + words * width;
  result.tail.count = (bytes - head - words * width) / unit;
  return result;
}

__device__ void copy_slice(const Piece& slice, std::uint64_t bytes, unsigned width) {
  const Cut pieces = cut(slice, bytes, width, 1);
  copy_piece<std::uint8_t>(pieces.head);
  if (width == 16) {
    copy_piece<Quad>(pieces.words);
  } else if (width == 4) {
    copy_piece<std::uint32_t>(pieces.words);
  } else {
    copy_piece<std::uint8_t>(pieces.words);
  }
  copy_piece<std::uint8_t>(pieces.tail);
}

template <typename Type, typename Op>
__device__ void reduce_slice(const Piece& slice, std::uint64_t bytes, unsigned width, int divisor) {
  constexpr unsigned kUnit = sizeof(typename Type::Element);
  const Cut pieces = cut(slice, bytes, width == 16 ? 16 : kUnit, kUnit);
  reduce_any<Singles<Type>, Op>(pieces.head, divisor);
  if (width == 16) {
    reduce_vectors<Type, Op>(pieces.words, divisor);
  } else {
    reduce_any<Singles<Type>, Op>(pieces.words, divisor);
  }
  reduce_any<Singles<Type>, Op>(pieces.tail, divisor);
}

// This block's slice of an item.
template <typename Type, typename Op>
__device__ void handle(const gpu::TableItem& item, unsigned char* const* addresses, bool averages) {
  const ExchangeSlice slice =
      exchange_slice(item.bytes, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x));
  if (slice.begin == slice.end) return;
  const Piece piece{addresses,
                    addresses + item.sources,
                    static_cast<int>(item.sources),
                    static_cast<int>(item.destinations),
                    slice.begin,
                    0};
  if (item.sources == 1) {
    copy_slice(piece, slice.end - slice.begin, item.width);
  } else {
    reduce_slice<Type, Op>(piece, slice.end - slice.begin, item.width,
                           averages ? piece.source_count : 1);
  }
}

template <typename Type, typename Op>
__global__ void __launch_bounds__(kExchangeThreads) exchange_kernel(gpu::ExchangeTable table) {
  const std::uint64_t call = table.calls[blockIdx.x];
  if (table.peers > 0) meet(table, 2 * call + 1);
  for (int i = 0; i < table.item_count; ++i) {
    const gpu::TableItem item = table.items[i];
    unsigned char* const* const addresses = table.addresses + item.first;
    unsigned char* const* const flags = addresses + item.sources + item.destinations;
    const bool has_flags = item.after + item.then > 0;
    if (has_flags) take_turn(item, flags);
    handle<Type, Op>(item, addresses, table.averages);
    if (has_flags) pass_turn(item, flags, table.finished + i);
  }
  if (table.peers == 0) return;
  meet(table, 2 * call + 2);
  if (threadIdx.x == 0) table.calls[blockIdx.x] = call + 1;
}

using Kernel = void (*)(gpu::ExchangeTable);

template <typename Type>
Kernel kernel_of(Reduction op) {
  if (op == Reduction::max) return exchange_kernel<Type, Max>;
  if (op == Reduction::min) return exchange_kernel<Type, Min>;
  return exchange_kernel<Type, Sum>;
}

// What only copies may be of any type, and takes the last.
Kernel kernel_for(DType dtype, Reduction op) {
  if (dtype == DType::fp16) return kernel_of<Fp16Lanes>(op);
  if (dtype == DType::bf16) return kernel_of<Bf16Lanes>(op);
  if (dtype == DType::int32) return kernel_of<Int32Lanes>(op);
  return kernel_of<Fp32Lanes>(op);
}

}  // namespace

void launch_exchange(const gpu::ExchangeTable& table, DType dtype, Reduction op, int blocks,
                     gpuStream_t stream) {
  const Kernel kernel = kernel_for(dtype, op);
  kernel<<<dim3(static_cast<unsigned>(blocks)), dim3(kExchangeThreads), 0, stream>>>(table);
  DUET_GPU_CHECK(gpuGetLastError());
}

void load_exchange_kernels() {
  for (const DType dtype : all_dtypes()) {
    for (const Reduction op : all_reductions()) load_kernel(kernel_for(dtype, op));
  }
}

}  // namespace duet::DUET_GPU
