// Rows of C in double. A block of 8 warps computes 32 columns.
//   layouts nn and tn (B contiguous along n): a lane is a column, and the warps divide k among
//   them. layout nt (B contiguous along k): a warp takes one column after the other, and its lanes
//   divide
//                                     k among them.
// In both, neighbouring lanes read neighbouring memory.
#ifdef DUET_GPU_HIP
#include <hip/hip_runtime.h>
#endif

#include <cstring>

#include "gemm/gpu/reference.h"

namespace duet::DUET_GPU {
namespace {

constexpr int kColumns = 32;
constexpr int kParts = 8;

// Loads one element: the inverse of the stores in device/gpu/element.h, for values that a fill
// makes (no NaN).
template <DType dtype>
__device__ double element(const std::byte* data, std::int64_t index) {
  if constexpr (dtype == DType::fp32) {
    return reinterpret_cast<const float*>(data)[index];
  } else if constexpr (dtype == DType::bf16) {
    const std::uint32_t bits =
        static_cast<std::uint32_t>(reinterpret_cast<const std::uint16_t*>(data)[index]) << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
  } else if constexpr (dtype == DType::int8) {
    return reinterpret_cast<const signed char*>(data)[index];
  } else {
    constexpr int mantissa_bits = dtype == DType::fp16 ? 10 : 3;
    constexpr int bias = dtype == DType::fp16 ? 15 : 7;
    constexpr int bits_in_all = dtype == DType::fp16 ? 16 : 8;
    const int bits = dtype == DType::fp16
                         ? static_cast<int>(reinterpret_cast<const std::uint16_t*>(data)[index])
                         : static_cast<int>(reinterpret_cast<const unsigned char*>(data)[index]);
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    const int exponent = (bits >> mantissa_bits) & ((1 << (bits_in_all - 1 - mantissa_bits)) - 1);
    const int whole = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
    const double size =
        ldexp(static_cast<double>(whole), (exponent == 0 ? 1 : exponent) - bias - mantissa_bits);
    return bits >> (bits_in_all - 1) != 0 ? -size : size;
  }
}

struct Shape {
  std::int64_t n, k;
  std::int64_t a_row, a_k;  // strides of A in elements, from row to row of C and along k
};

template <DType dtype>
__global__ void reference_nn(Shape shape, const std::byte* a, const std::byte* b,
                             ReferenceRows rows, double* out) {
  __shared__ double sums[kParts][ReferenceRows::most][kColumns];
  const int lane = threadIdx.x, part = threadIdx.y;
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * kColumns + lane;
  double sum[ReferenceRows::most] = {};
  if (j < shape.n) {
    for (std::int64_t k = part; k < shape.k; k += kParts) {
      const double factor = element<dtype>(b, k * shape.n + j);
      for (int i = 0; i < ReferenceRows::most; ++i) {
        sum[i] += element<dtype>(a, rows.row[i] * shape.a_row + k * shape.a_k) * factor;
      }
    }
  }
  for (int i = 0; i < ReferenceRows::most; ++i) sums[part][i][lane] = sum[i];
  __syncthreads();
  // Warp `part` adds up row `part`.
  if (j >= shape.n || part >= rows.count) return;
  double total = 0;
  for (int p = 0; p < kParts; ++p) total += sums[p][part][lane];
  out[part * shape.n + j] = total;
}

template <DType dtype>
__global__ void reference_nt(Shape shape, const std::byte* a, const std::byte* b,
                             ReferenceRows rows, double* out) {
  __shared__ double sums[kParts][ReferenceRows::most][kColumns];
  const int lane = threadIdx.x, part = threadIdx.y;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kColumns;
  for (int column = part; column < kColumns; column += kParts) {
    const std::int64_t j = first + column;
    double sum[ReferenceRows::most] = {};
    if (j < shape.n) {
      for (std::int64_t k = lane; k < shape.k; k += kColumns) {
        const double factor = element<dtype>(b, j * shape.k + k);
        for (int i = 0; i < ReferenceRows::most; ++i) {
          sum[i] += element<dtype>(a, rows.row[i] * shape.a_row + k * shape.a_k) * factor;
        }
      }
    }
    __syncthreads();
    for (int i = 0; i < ReferenceRows::most; ++i) sums[part][i][lane] = sum[i];
    __syncthreads();
    if (j >= shape.n || lane >= rows.count) continue;
    double total = 0;
    for (int p = 0; p < kColumns; ++p) total += sums[part][lane][p];
    out[lane * shape.n + j] = total;
  }
}

template <DType dtype>
void launch(const GemmProblem& p, const GemmBuffers& buffers, const ReferenceRows& rows,
            double* out, gpuStream_t stream) {
  const dim3 block(kColumns, kParts);
  const dim3 grid(static_cast<unsigned>((p.n + kColumns - 1) / kColumns));
  const bool tn = p.layout == Layout::tn;
  const Shape shape{p.n, p.k, tn ? 1 : p.k, tn ? row_step_of_a(p) : 1};
  if (p.layout == Layout::nt) {
    reference_nt<dtype>
        <<<grid, block, 0, stream>>>(shape, buffers.a.data, buffers.b.data, rows, out);
  } else {
    reference_nn<dtype>
        <<<grid, block, 0, stream>>>(shape, buffers.a.data, buffers.b.data, rows, out);
  }
  DUET_GPU_CHECK(GPU(GetLastError)());
}

}  // namespace

// Entries of `rows` beyond rows.count are row 0; they are computed and not written.
void launch_reference(const GemmProblem& problem, const GemmBuffers& buffers,
                      const ReferenceRows& rows, double* out, gpuStream_t stream) {
  switch (problem.dtype) {
    case DType::fp32:
    case DType::tf32:
      return launch<DType::fp32>(problem, buffers, rows, out, stream);
    case DType::fp16:
      return launch<DType::fp16>(problem, buffers, rows, out, stream);
    case DType::bf16:
      return launch<DType::bf16>(problem, buffers, rows, out, stream);
    case DType::fp8_e4m3:
      return launch<DType::fp8_e4m3>(problem, buffers, rows, out, stream);
    case DType::int8:
      return launch<DType::int8>(problem, buffers, rows, out, stream);
    case DType::int32:
    case DType::fp8_e5m2:
      break;
  }
  throw BadArgument("reference: not a type that is multiplied");
}

}  // namespace duet::DUET_GPU
