// Multiply-add loops with 16 independent sums: enough for four cycles of latency on two pipes, and
// few enough for AVX2's 16 registers less the two factors (12 there).
#include "gemm/cpu/peak.h"

#include <fmt/format.h>
#include <omp.h>

#include <cmath>

// See pack.cc: GCC bug 105593.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

namespace duet {
namespace {

constexpr long kSteps = 1000000;  // about 2 ms: long beside the start of the threads
constexpr int kSums512 = 16;
constexpr int kSums256 = 12;

// The factors are 1 and `seed`, hidden from the compiler, which would else take them out.
#define DUET_PEAK_LOOP(NAME, TARGET, VECTOR, FACTOR, SUMS, SET, ZERO, STEP, TOTAL)       \
  __attribute__((target(TARGET))) double NAME(long steps, double seed) {                 \
    VECTOR sums[SUMS];                                                                   \
    for (auto& sum : sums) sum = ZERO;                                                   \
    FACTOR one = SET(1.0), other = SET(seed);                                            \
    for (long i = 0; i < steps; ++i) {                                                   \
      _Pragma("GCC unroll 16") for (int j = 0; j < SUMS; ++j) STEP(sums[j], one, other); \
      asm volatile("" : "+v"(one), "+v"(other));                                         \
    }                                                                                    \
    double total = 0;                                                                    \
    for (auto& sum : sums) total += TOTAL(sum);                                          \
    return total;                                                                        \
  }

#define DUET_SET_512(value) _mm512_set1_ps(static_cast<float>(value))
#define DUET_FMA_512(sum, a, b) sum = _mm512_fmadd_ps(a, b, sum)
DUET_PEAK_LOOP(fp32_avx512, "avx512f", __m512, __m512, kSums512, DUET_SET_512, _mm512_setzero_ps(),
               DUET_FMA_512, _mm512_reduce_add_ps)

__attribute__((target("avx2,fma"))) inline double total_256(__m256 sum) {
  float parts[8];
  _mm256_storeu_ps(parts, sum);
  double total = 0;
  for (float part : parts) total += static_cast<double>(part);
  return total;
}
#define DUET_SET_256(value) _mm256_set1_ps(static_cast<float>(value))
#define DUET_FMA_256(sum, a, b) sum = _mm256_fmadd_ps(a, b, sum)
DUET_PEAK_LOOP(fp32_avx2, "avx2,fma", __m256, __m256, kSums256, DUET_SET_256, _mm256_setzero_ps(),
               DUET_FMA_256, total_256)

std::uint32_t bf16_pair(double value) {
  std::uint16_t bits;
  store(DType::bf16, &bits, static_cast<float>(value));
  return bits * 0x10001u;
}
#define DUET_SET_BF16(value) \
  reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(bf16_pair(value))))
#define DUET_DOT_BF16(sum, a, b) sum = _mm512_dpbf16_ps(sum, a, b)
DUET_PEAK_LOOP(bf16_avx512, "avx512f,avx512bf16", __m512, __m512bh, kSums512, DUET_SET_BF16,
               _mm512_setzero_ps(), DUET_DOT_BF16, _mm512_reduce_add_ps)

#define DUET_SET_INT8(value) _mm512_set1_epi8(static_cast<char>(value))
#define DUET_DOT_INT8(sum, a, b) sum = _mm512_dpbusd_epi32(sum, a, b)
DUET_PEAK_LOOP(int8_avx512, "avx512f,avx512vnni", __m512i, __m512i, kSums512, DUET_SET_INT8,
               _mm512_setzero_si512(), DUET_DOT_INT8, _mm512_reduce_add_epi32)

// One step is SUMS instructions of (multiply + add) x elements.
PeakLoop loop(const char* instruction, int sums, int products, double (*run)(long, double)) {
  return {instruction, 2.0 * sums * products, run};
}

}  // namespace

std::variant<PeakLoop, Skipped> peak_loop(DType dtype) {
  if (dtype == DType::fp32) {
    if (__builtin_cpu_supports("avx512f")) {
      return loop("vfmadd231ps, 512 bits", kSums512, 16, fp32_avx512);
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      return loop("vfmadd231ps, 256 bits", kSums256, 8, fp32_avx2);
    }
  }
  if (dtype == DType::bf16 && __builtin_cpu_supports("avx512bf16")) {
    return loop("vdpbf16ps, 512 bits", kSums512, 32, bf16_avx512);
  }
  if (dtype == DType::int8 && __builtin_cpu_supports("avx512vnni")) {
    return loop("vpdpbusd, 512 bits", kSums512, 64, int8_avx512);
  }
  return Skipped{
      fmt::format("this CPU has no vector instruction that multiplies {}, or Duet has "
                  "no loop for it",
                  name(dtype))};
}

PeakWork::PeakWork(const PeakLoop& loop, int threads) : loop_(loop), threads_(threads) {}

Cost PeakWork::cost() const {
  Cost cost;
  cost.flop = loop_.flop_per_step * static_cast<double>(kSteps) * threads_;
  return cost;
}

void PeakWork::prepare(Rank&, const Placement&) {}

void PeakWork::enqueue(Rank&, Stream& stream) {
  stream.run({"fma-peak", {}, [this] {
                double total = 0;
#pragma omp parallel num_threads(threads_) reduction(+ : total)
                total += loop_.run(kSteps, 1.0);
                got_ = total;
              }});
}

void PeakWork::renew(Rank&) { got_ = 0; }

std::variant<std::monostate, Skipped> PeakWork::verify(Rank&) {
  // Each product is 1 x 1, and a sum of at most 2^24 of them is exact in fp32.
  const double expected = cost().flop / 2;
  if (std::abs(got_ - expected) <= 1e-6 * expected) return std::monostate{};
  throw Mismatch(
      fmt::format("{}: the sums are {}, expected {}", loop_.instruction, got_, expected));
}

}  // namespace duet
