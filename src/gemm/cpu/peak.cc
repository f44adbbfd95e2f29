// Multiply-add loops with independent accumulators in registers. Eight hide four cycles of latency
// on two pipes. AVX-512 loops have 16 accumulators; AVX2 loops have 12, because two of the 16
// registers hold the factors; AMX loops have 6, beside two tiles of factors.
#include "gemm/cpu/peak.h"

#include <fmt/format.h>
#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

// GCC 12 warns about the deliberately undefined operands inside its AVX-512 intrinsics (GCC bug
// 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

namespace duet {
namespace {

// Steps of one run, about 2 ms: long compared with starting the threads. Every accumulator stays
// below 2^24, so that adding ones is exact in fp32.
constexpr long kVectorSteps = 1000000;
constexpr long kAmxSteps = 50000;  // one instruction takes 16 cycles
constexpr int kSums512 = 16;
constexpr int kSums256 = 12;
constexpr int kAmxSums = 6;

// The factors are 1 and `seed`. The asm statement hides them from the compiler, which would remove
// the loop otherwise.
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

// GCC 10, of which scripts/portable.sh makes archives, knows no AMX. A peak of bf16 or int8 without
// it would be too low on a CPU that has it.
#if defined(__clang__) || __GNUC__ >= 11
#define DUET_AMX 1

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

constexpr int kAmxRows = 16;
constexpr int kAmxRowBytes = 64;
constexpr int kAmxTileBytes = kAmxRows * kAmxRowBytes;

// The operand of LDTILECFG (Intel's Software Developer's Manual, volume 1, chapter 18).
struct alignas(64) AmxTileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

// Eight tiles of the largest size.
AmxTileConfig full_amx_tiles() {
  AmxTileConfig config;
  for (int i = 0; i < kAmxSums + 2; ++i) {
    config.row_bytes[i] = kAmxRowBytes;
    config.rows[i] = kAmxRows;
  }
  return config;
}

// Linux lets a process use AMX tiles only on request (arch_prctl(2), ARCH_REQ_XCOMP_PERM).
bool may_use_amx() {
  constexpr int kRequestPermission = 0x1023;
  constexpr int kTileData = 18;
  static const bool granted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return granted;
}

// Returns the total of all accumulators, whose elements have type T. Every word of the factors is
// `one`.
#define DUET_TILE_PEAK_LOOP(NAME, TARGET, T, STEP)                             \
  __attribute__((target(TARGET))) double NAME(long steps, std::uint32_t one) { \
    std::uint32_t factors[kAmxTileBytes / sizeof(one)];                        \
    for (auto& word : factors) word = one;                                     \
    const AmxTileConfig config = full_amx_tiles();                             \
    _tile_loadconfig(&config);                                                 \
    _tile_loadd(6, factors, kAmxRowBytes);                                     \
    _tile_loadd(7, factors, kAmxRowBytes);                                     \
    _tile_zero(0);                                                             \
    _tile_zero(1);                                                             \
    _tile_zero(2);                                                             \
    _tile_zero(3);                                                             \
    _tile_zero(4);                                                             \
    _tile_zero(5);                                                             \
    for (long i = 0; i < steps; ++i) {                                         \
      STEP(0, 6, 7);                                                           \
      STEP(1, 6, 7);                                                           \
      STEP(2, 6, 7);                                                           \
      STEP(3, 6, 7);                                                           \
      STEP(4, 6, 7);                                                           \
      STEP(5, 6, 7);                                                           \
    }                                                                          \
    T sums[kAmxSums][kAmxTileBytes / sizeof(T)];                               \
    _tile_stored(0, sums[0], kAmxRowBytes);                                    \
    _tile_stored(1, sums[1], kAmxRowBytes);                                    \
    _tile_stored(2, sums[2], kAmxRowBytes);                                    \
    _tile_stored(3, sums[3], kAmxRowBytes);                                    \
    _tile_stored(4, sums[4], kAmxRowBytes);                                    \
    _tile_stored(5, sums[5], kAmxRowBytes);                                    \
    _tile_release();                                                           \
    double total = 0;                                                          \
    for (const auto& tile : sums) {                                            \
      for (T sum : tile) total += static_cast<double>(sum);                    \
    }                                                                          \
    return total;                                                              \
  }

DUET_TILE_PEAK_LOOP(tile_sums_bf16, "amx-tile,amx-bf16", float, _tile_dpbf16ps)
DUET_TILE_PEAK_LOOP(tile_sums_int8, "amx-tile,amx-int8", std::int32_t, _tile_dpbusd)

double bf16_amx(long steps, double seed) { return tile_sums_bf16(steps, bf16_pair(seed)); }
double int8_amx(long steps, double seed) {
  return tile_sums_int8(steps, static_cast<std::uint8_t>(seed) * 0x01010101u);
}

#else
#define DUET_AMX 0
#endif

// One step has `sums` instructions, each with `products` multiplications and as many additions.
PeakLoop loop(const char* instruction, int sums, int products, double (*run)(long, double)) {
  return {instruction, kVectorSteps, 2.0 * sums * products, run};
}

#if DUET_AMX
// Each instruction multiplies every row of one factor by every column of the other.
PeakLoop tile_loop(const char* instruction, int element_bytes, double (*run)(long, double)) {
  const int depth = kAmxRowBytes / element_bytes;
  return {instruction, kAmxSteps, 2.0 * kAmxSums * kAmxRows * kAmxRows * depth, run};
}
#endif

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
#if !DUET_AMX
  if (dtype == DType::bf16 || dtype == DType::int8) {
    return Skipped{"this Duet was built by a compiler that has no AMX instructions"};
  }
#else
  if (dtype == DType::bf16 && __builtin_cpu_supports("amx-bf16") && may_use_amx()) {
    return tile_loop("tdpbf16ps, tiles of 16 x 64 bytes", 2, bf16_amx);
  }
  if (dtype == DType::bf16 && __builtin_cpu_supports("avx512bf16")) {
    return loop("vdpbf16ps, 512 bits", kSums512, 32, bf16_avx512);
  }
  if (dtype == DType::int8 && __builtin_cpu_supports("amx-int8") && may_use_amx()) {
    return tile_loop("tdpbusd, tiles of 16 x 64 bytes", 1, int8_amx);
  }
  if (dtype == DType::int8 && __builtin_cpu_supports("avx512vnni")) {
    return loop("vpdpbusd, 512 bits", kSums512, 64, int8_avx512);
  }
#endif
  return Skipped{
      fmt::format("this CPU has no vector instruction that multiplies {}, or Duet has "
                  "no loop for it",
                  name(dtype))};
}

PeakWork::PeakWork(const PeakLoop& loop, int threads) : loop_(loop), threads_(threads) {}

Cost PeakWork::cost() const {
  Cost cost;
  cost.flop = loop_.flop_per_step * static_cast<double>(loop_.steps) * threads_;
  return cost;
}

void PeakWork::prepare(Rank&, const Placement&) {}

void PeakWork::enqueue(Rank&, Stream& stream) {
  stream.run({"fma-peak", {}, [this] {
                double total = 0;
#pragma omp parallel num_threads(threads_) reduction(+ : total)
                total += loop_.run(loop_.steps, 1.0);
                got_ = total;
              }});
}

void PeakWork::renew(Rank&) { got_ = 0; }

std::optional<Skipped> PeakWork::verify(Rank&) {
  // Every product is 1 x 1, so the sums are exact (kVectorSteps).
  const double expected = cost().flop / 2;
  if (std::abs(got_ - expected) <= 1e-6 * expected) return std::nullopt;
  throw Mismatch(
      fmt::format("{}: the sums are {}, expected {}", loop_.instruction, got_, expected));
}

}  // namespace duet
