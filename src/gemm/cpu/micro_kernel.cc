// The tile kernels for fp32 (vfmadd231ps) and bf16 (vdpbf16ps); both are one text over a 32-bit
// word of k.
#include "gemm/cpu/micro_kernel.h"

#include <immintrin.h>

namespace duet {
namespace {

#define DUET_FP32_TARGET __attribute__((target("avx512f")))
#define DUET_BF16_TARGET __attribute__((target("avx512f,avx512bf16")))

// A macro and not a template: a function inlines only into callers of the same target attribute,
// and the accumulators must stay in registers.
#define DUET_TILE_KERNEL(NAME, TARGET, MULTIPLY_ADD)                                       \
  TARGET void NAME(const TileArguments& arguments) {                                       \
    const std::uint32_t* a = arguments.a;                                                  \
    const std::uint32_t* b = arguments.b;                                                  \
    float* c = arguments.c;                                                                \
    const char* next_a = arguments.next_a;                                                 \
    const char* next_b = arguments.next_b;                                                 \
    __m512 sum[kTileRows][2];                                                              \
    _Pragma("GCC unroll 14") for (int i = 0; i < kTileRows; ++i) {                         \
      _mm_prefetch(reinterpret_cast<const char*>(c + i * kTileColumns), _MM_HINT_T0);      \
      _mm_prefetch(reinterpret_cast<const char*>(c + i * kTileColumns + 16), _MM_HINT_T0); \
      sum[i][0] = _mm512_setzero_ps();                                                     \
      sum[i][1] = _mm512_setzero_ps();                                                     \
    }                                                                                      \
    for (std::int64_t k = 0; k < arguments.words; ++k) {                                   \
      if (k % 8 == 0) {                                                                    \
        _mm_prefetch(next_a, _MM_HINT_T1);                                                 \
        _mm_prefetch(next_b, _MM_HINT_T1);                                                 \
        next_a += 32;                                                                      \
        next_b += 64;                                                                      \
      }                                                                                    \
      const __m512i b0 = _mm512_loadu_si512(b);                                            \
      const __m512i b1 = _mm512_loadu_si512(b + 16);                                       \
      _Pragma("GCC unroll 14") for (int i = 0; i < kTileRows; ++i) {                       \
        const __m512i ai = _mm512_set1_epi32(static_cast<int>(a[i]));                      \
        sum[i][0] = MULTIPLY_ADD(ai, b0, sum[i][0]);                                       \
        sum[i][1] = MULTIPLY_ADD(ai, b1, sum[i][1]);                                       \
      }                                                                                    \
      a += kTileRows;                                                                      \
      b += kTileColumns;                                                                   \
    }                                                                                      \
    _Pragma("GCC unroll 14") for (int i = 0; i < kTileRows; ++i) {                         \
      float* row = c + i * kTileColumns;                                                   \
      if (arguments.add) {                                                                 \
        sum[i][0] = _mm512_add_ps(sum[i][0], _mm512_loadu_ps(row));                        \
        sum[i][1] = _mm512_add_ps(sum[i][1], _mm512_loadu_ps(row + 16));                   \
      }                                                                                    \
      _mm512_storeu_ps(row, sum[i][0]);                                                    \
      _mm512_storeu_ps(row + 16, sum[i][1]);                                               \
    }                                                                                      \
  }

#define DUET_MULTIPLY_ADD_FP32(a, b, c) \
  _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), c)
#define DUET_MULTIPLY_ADD_BF16(a, b, c) \
  _mm512_dpbf16_ps(c, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b))

DUET_TILE_KERNEL(tile_fp32, DUET_FP32_TARGET, DUET_MULTIPLY_ADD_FP32)
DUET_TILE_KERNEL(tile_bf16, DUET_BF16_TARGET, DUET_MULTIPLY_ADD_BF16)

}  // namespace

MicroKernel micro_kernel(DType dtype) {
  if (dtype == DType::fp32 && __builtin_cpu_supports("avx512f")) return tile_fp32;
  if (dtype == DType::bf16 && __builtin_cpu_supports("avx512bf16")) return tile_bf16;
  return nullptr;
}

}  // namespace duet
