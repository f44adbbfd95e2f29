// Magnitudes of tensors, tensors in fp8 with their transposes, and rows in fp8.
#include "device/gpu/group_sum.h"
#include "device/gpu/launch.h"
#include "training/gpu/element8.h"
#include "training/gpu/kernels.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kMagnitudeThreads = 256, kMagnitudePacks = 8;  // packs of a thread, at least
constexpr int kTile = 128, kQuads = kTile / 4, kPacks = kTile / 8;
constexpr int kQuantiseThreads = 256;

// Of a value without its sign, as an integer: it orders as values do, and NaN is above all.
__device__ std::uint32_t magnitude_bits(float value) { return gpu::float_bits(value) & 0x7FFFFFFF; }

__device__ std::uint32_t larger(std::uint32_t a, std::uint32_t b) { return a > b ? a : b; }

// `largest` begins as 0.
template <typename T>
__global__ void magnitude_kernel(const T* x, std::uint32_t* largest, std::int64_t packs) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::uint32_t own = 0;
#pragma unroll 4
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < packs;
       i += step) {
    float value[8];
    load8(x + 8 * i, value);
#pragma unroll
    for (int k = 0; k < 8; ++k) own = larger(own, magnitude_bits(value[k]));
  }
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
    own = larger(own, gpu::float_bits(shuffle_xor(gpu::from_bits(own), mask)));
  }
  __shared__ std::uint32_t of_warp[kMagnitudeThreads / 32];
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = own;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (const std::uint32_t each : of_warp) own = larger(own, each);
  atomicMax(largest, own);
}

template <typename T>
struct Quantising {
  const T* x;
  const float* magnitude;
  float* scale;
  std::uint8_t *values, *transposed;  // nullptr: not wanted
  std::int64_t rows, columns;
};

// A thread has four rows of eight columns at a time. Of these it stores rows of `values`, and each
// column as one word of four rows in `turned`, which the block then stores as rows of `transposed`.
template <typename Format, typename T>
__device__ void quantise_tile(const Quantising<T>& q, float factor, std::int64_t first_row,
                              std::int64_t first_column,
                              std::uint32_t (&turned)[kTile][kQuads + 1]) {
  for (int item = static_cast<int>(threadIdx.x); item < kQuads * kPacks; item += kQuantiseThreads) {
    const int quad = item / kPacks, pack = item % kPacks;
    const std::int64_t row = first_row + 4 * quad, column = first_column + 8 * pack;
    if (row >= q.rows || column >= q.columns) continue;
    std::uint32_t byte[4][8];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      float value[8];
      load8(q.x + (row + r) * q.columns + column, value);
      const Words2 packed = packed_fp8<Format>(value, factor);
#pragma unroll
      for (int k = 0; k < 8; ++k) byte[r][k] = packed.word[k / 4] >> (8 * (k % 4)) & 0xFF;
      if (q.values == nullptr) continue;
      *reinterpret_cast<Words2*>(q.values + (row + r) * q.columns + column) = packed;
    }
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      turned[8 * pack + k][quad] =
          byte[0][k] | byte[1][k] << 8 | byte[2][k] << 16 | byte[3][k] << 24;
    }
  }
}

// Grids: (tiles of columns, tiles of rows).
template <typename Format, typename T>
__global__ void quantise_kernel(Quantising<T> q) {
  __shared__ std::uint32_t turned[kTile][kQuads + 1];
  const Quantisation by = quantisation(*q.magnitude, Format::kLargest);
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *q.scale = by.scale;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kTile,
                     first_row = static_cast<std::int64_t>(blockIdx.y) * kTile;
  quantise_tile<Format>(q, by.factor, first_row, first_column, turned);
  if (q.transposed == nullptr) return;
  __syncthreads();
  for (int item = static_cast<int>(threadIdx.x); item < kTile * kQuads; item += kQuantiseThreads) {
    const int column = item / kQuads, quad = item % kQuads;
    const std::int64_t to = first_column + column, row = first_row + 4 * quad;
    if (to >= q.columns || row >= q.rows) continue;
    *reinterpret_cast<std::uint32_t*>(q.transposed + to * q.rows + row) = turned[column][quad];
  }
}

constexpr int kRowsThreads = 256;
constexpr int kScaledPacks = kScaledElements / 8;  // neighbouring threads, which share a scale

// Rows in fp8, of which a thread has eight elements.
template <typename T>
struct Fp8Rows {
  const std::int32_t* index;  // of the row in fp8; null: the same one
  T* elements;
  std::uint8_t* bytes;
  std::int64_t packs, columns;  // packs of all rows of elements

  struct Place {
    T* elements;
    std::uint8_t* values;
    float* scale;
  };
  __device__ Place place(std::int64_t pack) const {
    const std::int64_t row = 8 * pack / columns, column = 8 * pack % columns;
    std::uint8_t* const at =
        bytes + (index != nullptr ? index[row] : row) * (columns + columns / kScaledElements * 4);
    return {elements + 8 * pack, at + column,
            reinterpret_cast<float*>(at + columns) + column / kScaledElements};
  }
};

// Values are stored by four, since rows are multiples of 4 bytes.
template <typename T>
__global__ void quantise_rows_kernel(Fp8Rows<T> rows) {
  const std::int64_t pack = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const bool is_there = pack < rows.packs;
  float value[8] = {};
  if (is_there) load8(rows.elements + 8 * pack, value);
  std::uint32_t largest = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) largest = larger(largest, magnitude_bits(value[k]));
#pragma unroll
  for (int mask = kScaledPacks / 2; mask > 0; mask /= 2)
    largest = larger(largest, gpu::float_bits(shuffle_xor(gpu::from_bits(largest), mask)));
  if (!is_there) return;
  const Quantisation by = quantisation(gpu::from_bits(largest), E4M3::kLargest);
  const auto to = rows.place(pack);
  auto* const words = reinterpret_cast<std::uint32_t*>(to.values);
  const Words2 packed = packed_fp8<E4M3>(value, by.factor);
  words[0] = packed.word[0];
  words[1] = packed.word[1];
  if (pack % kScaledPacks == 0) *to.scale = by.scale;
}

template <typename T>
__global__ void gather_fp8_rows_kernel(Fp8Rows<T> rows) {
  const std::int64_t pack = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (pack >= rows.packs) return;
  const auto from = rows.place(pack);
  const auto* const words = reinterpret_cast<const std::uint32_t*>(from.values);
  float value[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const auto byte = static_cast<std::uint8_t>(words[k / 4] >> (8 * (k % 4)));
    value[k] = gpu::from_fp8_e4m3(byte) * *from.scale;
  }
  store8(from.elements, value);
}

template <typename T>
void launch_fp8_rows(void (*kernel)(Fp8Rows<T>), const Tensor& elements, const Tensor& bytes,
                     const std::int32_t* index, Stream& stream) {
  const std::int64_t packs = elements.count() / 8;
  if (packs == 0) return;
  const auto blocks = static_cast<unsigned>((packs + kRowsThreads - 1) / kRowsThreads);
  launch(kernel, {blocks, kRowsThreads}, stream,
         Fp8Rows<T>{index, data<T>(elements), data<std::uint8_t>(bytes), packs, elements.columns});
}

unsigned tiles(std::int64_t count) { return static_cast<unsigned>((count + kTile - 1) / kTile); }

}  // namespace

void launch(const Magnitude& o, int blocks, Stream& stream) {
  const std::int64_t packs = o.x.count() / 8, of_block = kMagnitudeThreads * kMagnitudePacks;
  const auto wanted = static_cast<unsigned>((packs + of_block - 1) / of_block);
  const unsigned grid = wanted < static_cast<unsigned>(blocks) ? wanted : blocks;
  launch(FillValue{0, o.magnitude}, stream);
  by_type(o.x.dtype, [&](auto element) {
    using T = decltype(element);
    launch(magnitude_kernel<T>, {grid, kMagnitudeThreads}, stream, data<T>(o.x),
           data<std::uint32_t>(o.magnitude), packs);
  });
}

void launch(const Quantise& o, Stream& stream) {
  by_type(o.x.dtype, [&](auto element) {
    using T = decltype(element);
    const auto bytes = [](const Tensor& form) {
      return form.count() > 0 ? data<std::uint8_t>(form) : nullptr;
    };
    const Quantising<T> q{data<T>(o.x),       data<float>(o.magnitude), data<float>(o.to.scale),
                          bytes(o.to.values), bytes(o.to.transposed),   o.x.rows,
                          o.x.columns};
    const LaunchShape shape{dim3(tiles(o.x.columns), tiles(o.x.rows)), kQuantiseThreads};
    if (o.to.dtype() == DType::fp8_e5m2) return launch(quantise_kernel<E5M2, T>, shape, stream, q);
    launch(quantise_kernel<E4M3, T>, shape, stream, q);
  });
}

void launch(const QuantiseRows& o, Stream& stream) {
  by_type(o.x.dtype, [&](auto element) {
    using T = decltype(element);
    launch_fp8_rows<T>(quantise_rows_kernel<T>, o.x, o.y, nullptr, stream);
  });
}

void launch(const GatherFp8Rows& o, Stream& stream) {
  by_type(o.y.dtype, [&](auto element) {
    using T = decltype(element);
    launch_fp8_rows<T>(gather_fp8_rows_kernel<T>, o.y, o.x, data<std::int32_t>(o.index), stream);
  });
}

}  // namespace duet::DUET_GPU
