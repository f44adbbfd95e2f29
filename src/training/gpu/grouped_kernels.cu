// Products of rows in groups. Only the device knows how many rows a group has: a block finds its
// group in the offsets, and one without rows ends at once, so that a call can be captured.
//
//   forward           y_g (rows, out) = x_g (rows, in) w_g^T    w_g (out, in)
//   backward, input   dx_g (rows, in) = dy_g (rows, out) w_g
//   backward, weight  dw_g (out, in)  = dy_g^T x_g              summed over the rows
#include <algorithm>
#include <type_traits>

#include "device/gpu/launch.h"
#include "training/gpu/element8.h"
#include "training/gpu/kernels.h"

namespace duet::DUET_GPU {
namespace {

// C (m, n) = A B^T of each group, with A (m, k) and B (n, k). In memory a row of A has a_row
// elements and lies along k, or, where A is turned, along m; likewise B. Where A is turned the
// group's rows are summed over.
template <typename T, typename C>
struct GroupedProduct {
  const T *a, *b;
  C* c;
  std::int64_t m, n, k;  // a group's rows stand for m, or where they are summed for k
  std::int64_t a_row, b_row;
  const std::int32_t* offsets;
  int groups;
  std::int64_t room;  // for rows
  bool accumulates;
};

// What a block multiplies.
template <typename T, typename C>
struct ProductTile {
  const T *a, *b;
  C* c;
  std::int64_t m, n, k;  // m and n up to the matrix's end
};

struct Rows {
  std::int64_t first, last;
  __device__ std::int64_t count() const { return last - first; }
};

template <typename T, typename C>
__device__ Rows rows_of_group(const GroupedProduct<T, C>& p, int group) {
  const std::int64_t first = p.offsets[group], last = p.offsets[group + 1];
  return {first < p.room ? first : p.room, last < p.room ? last : p.room};
}

// Alike in all threads. Grids: (tiles of n, tiles of rows and one more for each group), or of
// summed rows (tiles of n, tiles of m, groups). False: the block has nothing to do.
template <int kSize, bool kTurnedA, bool kTurnedB, typename T, typename C>
__device__ bool find_tile(const GroupedProduct<T, C>& p, ProductTile<T, C>& tile) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kSize;
  int group = static_cast<int>(blockIdx.z);
  std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kSize;  // of the group's result
  Rows rows{0, 0};
  if (kTurnedA) {
    rows = rows_of_group(p, group);
    tile = {p.a + rows.first * p.a_row,
            p.b + rows.first * p.b_row,
            p.c + group * p.m * p.n,
            p.m - row,
            p.n - column,
            rows.count()};
  } else {
    for (group = 0; group < p.groups; ++group) {
      rows = rows_of_group(p, group);
      const std::int64_t covered = (rows.count() + kSize - 1) / kSize * kSize;
      if (row < covered) break;
      row -= covered;
    }
    if (group == p.groups) return false;
    tile = {p.a + rows.first * p.a_row,
            p.b + group * p.n * p.k,
            p.c + rows.first * p.n,
            rows.count() - row,
            p.n - column,
            p.k};
  }
  tile.a += kTurnedA ? row : row * p.a_row;
  tile.b += kTurnedB ? column : column * p.b_row;
  tile.c += row * p.n + column;
  return true;
}

template <typename C>
__device__ void store_sum(C* to, float sum, bool accumulates) {
  store_one(to, accumulates ? as_float(*to) + sum : sum);
}

constexpr int kThreads = 256;

// ---- In fp32, on every device -------------------------------------------------------------------

constexpr int kPlainTile = 64, kPlainDepth = 16;

// Rows `first` up of an operand's tile, into columns of shared memory.
template <bool kTurned, typename T>
__device__ void load_plain(const T* from, std::int64_t row, std::int64_t rows, std::int64_t k,
                           std::int64_t depth, float (&to)[kPlainDepth][kPlainTile + 1]) {
  for (int at = static_cast<int>(threadIdx.x); at < kPlainDepth * kPlainTile; at += kThreads) {
    const int i = kTurned ? at % kPlainTile : at / kPlainDepth;
    const int d = kTurned ? at / kPlainTile : at % kPlainDepth;
    const bool is_there = i < rows && k + d < depth;
    to[d][i] =
        !is_there ? 0.0f : as_float(kTurned ? from[(k + d) * row + i] : from[i * row + k + d]);
  }
}

// A thread has 4 x 4 elements, 16 rows and columns apart.
template <bool kTurnedA, bool kTurnedB, typename T, typename C>
__global__ void plain_product_kernel(GroupedProduct<T, C> p) {
  __shared__ float a[kPlainDepth][kPlainTile + 1], b[kPlainDepth][kPlainTile + 1];
  ProductTile<T, C> tile;
  if (!find_tile<kPlainTile, kTurnedA, kTurnedB>(p, tile)) return;
  const int column = static_cast<int>(threadIdx.x) % 16, row = static_cast<int>(threadIdx.x) / 16;
  float sum[4][4] = {};
  for (std::int64_t k = 0; k < tile.k; k += kPlainDepth) {
    load_plain<kTurnedA>(tile.a, p.a_row, tile.m, k, tile.k, a);
    load_plain<kTurnedB>(tile.b, p.b_row, tile.n, k, tile.k, b);
    __syncthreads();
    for (int d = 0; d < kPlainDepth; ++d) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] += a[d][row + 16 * i] * b[d][column + 16 * j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const int at_row = row + 16 * i, at_column = column + 16 * j;
      if (at_row < tile.m && at_column < tile.n)
        store_sum(tile.c + at_row * p.n + at_column, sum[i][j], p.accumulates);
    }
  }
}

// ---- In bf16, by tensor cores -------------------------------------------------------------------

#if defined(__CUDACC__) && !defined(DUET_GPU_HIP)

// Eight warps have 64 x 32 elements each. Four stages of operands are on their way.
constexpr int kTile = 128, kDepth = 32, kStages = 4;
// Rows of shared memory are 16 bytes longer than what they hold, so that eight of them, of which
// ldmatrix reads 16 bytes each, are in different banks.
constexpr int kRow = kDepth + 8;
[[maybe_unused]] constexpr int kTurnedRow = kTile + 8;  // unused before sm_80
constexpr int kOperand = kTile * kRow;  // elements of one operand in a stage; turned it is smaller
constexpr std::size_t kSharedBytes = kStages * 2 * kOperand * sizeof(Bf16);

__device__ std::uint32_t shared_address(const Bf16* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

// 16 bytes, or zeros.
__device__ void copy16(Bf16* to, const Bf16* from, bool is_there) {
  const int bytes = is_there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(bytes));
}

// Four matrices of 8 x 8, of which each thread names one row.
template <bool kTurned>
__device__ void load_matrices(std::uint32_t (&r)[4], const Bf16* row) {
  if (kTurned) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row)));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row)));
  }
}

__device__ void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                             std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Depths k up of an operand's tile: 128 rows of 32, or turned 32 rows of 128.
template <bool kTurned>
__device__ void begin_to_load(Bf16* to, const Bf16* from, std::int64_t row, std::int64_t rows,
                              std::int64_t k, std::int64_t depth) {
  constexpr int kPieces = (kTurned ? kTile : kDepth) / 8;
  for (int at = static_cast<int>(threadIdx.x); at < kTile * kDepth / 8; at += kThreads) {
    const int line = at / kPieces, piece = at % kPieces * 8;
    const bool is_there =
        kTurned ? k + line < depth && piece < rows : line < rows && k + piece < depth;
    const Bf16* const source =
        kTurned ? from + (k + line) * row + piece : from + line * row + k + piece;
    copy16(to + line * (kTurned ? kTurnedRow : kRow) + piece, is_there ? source : from, is_there);
  }
}

// A row of one of the four matrices that make 16 x 16 elements of an operand, from `i` and `k` on.
// `along_k`: which of the two upper bits of the lane steps along k.
template <bool kTurned, int kAlongK>
__device__ const Bf16* matrix_row(const Bf16* operand, int i, int k) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int steps_k = lane >> (3 + kAlongK) & 1, steps_i = lane >> (4 - kAlongK) & 1;
  if (kTurned) return operand + (k + 8 * steps_k + lane % 8) * kTurnedRow + i + 8 * steps_i;
  return operand + (i + 8 * steps_i + lane % 8) * kRow + k + 8 * steps_k;
}

template <bool kTurnedA, bool kTurnedB>
__device__ void multiply_stage(const Bf16* a, const Bf16* b, int row, int column,
                               float (&sum)[4][4][4]) {
#pragma unroll
  for (int k = 0; k < kDepth; k += 16) {
    std::uint32_t of_a[4][4], of_b[2][4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      load_matrices<kTurnedA>(of_a[i], matrix_row<kTurnedA, 1>(a, row + 16 * i, k));
#pragma unroll
    for (int j = 0; j < 2; ++j)
      load_matrices<kTurnedB>(of_b[j], matrix_row<kTurnedB, 0>(b, column + 16 * j, k));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        multiply_add(sum[i][j], of_a[i], of_b[j / 2][2 * (j % 2)], of_b[j / 2][2 * (j % 2) + 1]);
    }
  }
}

template <typename C>
__device__ void store_tile(const ProductTile<Bf16, C>& tile, std::int64_t columns, bool accumulates,
                           int row, int column, const float (&sum)[4][4][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int at_row = row + 16 * i + lane / 4 + 8 * (e / 2);
        const int at_column = column + 8 * j + lane % 4 * 2 + e % 2;
        if (at_row < tile.m && at_column < tile.n)
          store_sum(tile.c + at_row * columns + at_column, sum[i][j][e], accumulates);
      }
    }
  }
}

template <bool kTurnedA, bool kTurnedB, typename C>
__global__ void __launch_bounds__(kThreads) tensor_product_kernel(GroupedProduct<Bf16, C> p) {
#if __CUDA_ARCH__ >= 800
  Bf16* const shared = dynamic_shared<Bf16>();
  ProductTile<Bf16, C> tile;
  if (!find_tile<kTile, kTurnedA, kTurnedB>(p, tile)) return;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp / 4 * 64, column = warp % 4 * 32;
  const auto load = [&](std::int64_t step) {
    Bf16* const to = shared + step % kStages * 2 * kOperand;
    const std::int64_t k = step * kDepth;
    if (k < tile.k) {
      begin_to_load<kTurnedA>(to, tile.a, p.a_row, tile.m, k, tile.k);
      begin_to_load<kTurnedB>(to + kOperand, tile.b, p.b_row, tile.n, k, tile.k);
    }
    asm volatile("cp.async.commit_group;");
  };
  float sum[4][4][4] = {};
  for (int step = 0; step < kStages - 1; ++step) load(step);
  for (std::int64_t step = 0; step * kDepth < tile.k; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2));
    __syncthreads();  // the stage is there for all, and the one before it has been read
    load(step + kStages - 1);
    const Bf16* const a = shared + step % kStages * 2 * kOperand;
    multiply_stage<kTurnedA, kTurnedB>(a, a + kOperand, row, column, sum);
  }
  store_tile(tile, p.n, p.accumulates, row, column, sum);
#endif
}

bool has_tensor_cores() {
  int device = 0, major = 0;
  DUET_GPU_CHECK(GPU(GetDevice)(&device));
  DUET_GPU_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  return major >= 8;
}

#endif

// ---- Launches -----------------------------------------------------------------------------------

template <int kSize, bool kTurnedA, typename T, typename C>
dim3 grid_of(const GroupedProduct<T, C>& p) {
  const auto tiles = [](std::int64_t count) {
    return static_cast<unsigned>((count + kSize - 1) / kSize);
  };
  const auto groups = static_cast<unsigned>(p.groups);
  if (kTurnedA) return dim3(tiles(p.n), tiles(p.m), groups);
  return dim3(tiles(p.n), tiles(p.room) + groups);
}

template <bool kTurnedA, bool kTurnedB, typename T, typename C>
void launch_product(const GroupedProduct<T, C>& p, Stream& stream) {
#if defined(__CUDACC__) && !defined(DUET_GPU_HIP)
  if constexpr (std::is_same_v<T, Bf16>) {
    if (has_tensor_cores()) {
      return launch(tensor_product_kernel<kTurnedA, kTurnedB, C>,
                    {grid_of<kTile, kTurnedA>(p), kThreads, kSharedBytes}, stream, p);
    }
  }
#endif
  launch(plain_product_kernel<kTurnedA, kTurnedB, T, C>,
         {grid_of<kPlainTile, kTurnedA>(p), kThreads}, stream, p);
}

// `a` and `b` of one type; gradients of weights may be of fp32 where these are of bf16.
template <bool kTurnedA, bool kTurnedB>
void launch_product(const GroupedRows& rows, const Tensor& a, const Tensor& b, const Tensor& c,
                    std::int64_t m, std::int64_t k, bool accumulates, Stream& stream) {
  by_type(a.dtype, [&](auto of_a) {
    by_type(c.dtype, [&](auto of_c) {
      using T = decltype(of_a);
      using C = decltype(of_c);
      launch_product<kTurnedA, kTurnedB>(
          GroupedProduct<T, C>{data<T>(a), data<T>(b), data<C>(c), m, c.columns, k, a.columns,
                               b.columns, data<std::int32_t>(rows.offsets),
                               static_cast<int>(rows.groups()), a.rows, accumulates},
          stream);
    });
  });
}

}  // namespace

void launch(const GroupedLinear& o, Stream& stream) {
  launch_product<false, false>(o.rows, o.x, o.w, o.y, 0, o.x.columns, false, stream);
}

void launch(const GroupedLinearBackwardInput& o, Stream& stream) {
  launch_product<false, true>(o.rows, o.dy, o.w, o.dx, 0, o.dy.columns, false, stream);
}

void launch(const GroupedLinearBackwardWeight& o, Stream& stream) {
  launch_product<true, true>(o.rows, o.dy, o.x, o.dw, o.dy.columns, 0,
                             o.accumulate == Accumulate::yes, stream);
}

}  // namespace duet::DUET_GPU
