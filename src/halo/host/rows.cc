#include "halo/host/rows.h"

#include <immintrin.h>

#include <algorithm>

#include "halo/reference.h"

namespace duet {
namespace {

constexpr std::int64_t kLine = 64 / sizeof(float);  // floats of a cache line

void sweep_points(const float* above, const float* own, const float* below, float* to,
                  std::int64_t begin, std::int64_t end) {
  for (std::int64_t x = begin; x < end; ++x) {
    to[x] = jacobi(own[x - 1], own[x + 1], above[x], below[x]);
  }
}

// Sweeps `lines` whole cache lines, by non-temporal stores; `to` is aligned to a line. The same
// operations in the same order as jacobi(), several points at a time.
using Lines = void (*)(const float* above, const float* own, const float* below, float* to,
                       std::int64_t lines);

__attribute__((target("avx512f"))) void sweep_lines_512(const float* above, const float* own,
                                                        const float* below, float* to,
                                                        std::int64_t lines) {
  for (std::int64_t x = 0; x < lines * kLine; x += 16) {
    const __m512 sides = _mm512_add_ps(_mm512_loadu_ps(own + x - 1), _mm512_loadu_ps(own + x + 1));
    const __m512 sum =
        _mm512_add_ps(_mm512_add_ps(sides, _mm512_loadu_ps(above + x)), _mm512_loadu_ps(below + x));
    _mm512_stream_ps(to + x, _mm512_mul_ps(_mm512_set1_ps(0.25f), sum));
  }
}

void sweep_lines_128(const float* above, const float* own, const float* below, float* to,
                     std::int64_t lines) {
  for (std::int64_t x = 0; x < lines * kLine; x += 4) {
    const __m128 sides = _mm_add_ps(_mm_loadu_ps(own + x - 1), _mm_loadu_ps(own + x + 1));
    const __m128 sum =
        _mm_add_ps(_mm_add_ps(sides, _mm_loadu_ps(above + x)), _mm_loadu_ps(below + x));
    _mm_stream_ps(to + x, _mm_mul_ps(_mm_set1_ps(0.25f), sum));
  }
}

Lines lines_of_this_cpu() {
  static const Lines sweep = __builtin_cpu_supports("avx512f") ? sweep_lines_512 : sweep_lines_128;
  return sweep;
}

// The first point from `begin` on that begins a line of `to`; at most `end`.
std::int64_t first_line(const float* to, std::int64_t begin, std::int64_t end) {
  const auto at = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to + begin) /
                                            sizeof(float) % kLine);
  return std::min(end, at == 0 ? begin : begin + kLine - at);
}

}  // namespace

void sweep_row(const float* above, const float* own, const float* below, float* to, std::int64_t nx,
               Stores stores) {
  const std::int64_t last = nx - 1;
  to[0] = own[0];
  to[last] = own[last];
  if (stores == Stores::cached) {
    sweep_points(above, own, below, to, 1, last);
    return;
  }
  const std::int64_t x = first_line(to, 1, last);
  sweep_points(above, own, below, to, 1, x);
  const std::int64_t lines = (last - x) / kLine;
  lines_of_this_cpu()(above + x, own + x, below + x, to + x, lines);
  sweep_points(above, own, below, to, x + lines * kLine, last);
  _mm_sfence();  // other threads see these stores before any later store of this thread
}

void copy_row_past_caches(const float* from, float* to, std::int64_t nx) {
  const std::int64_t x = first_line(to, 0, nx);
  std::copy(from, from + x, to);
  const std::int64_t end = x + (nx - x) / kLine * kLine;
  for (std::int64_t at = x; at < end; at += 4) _mm_stream_ps(to + at, _mm_loadu_ps(from + at));
  std::copy(from + end, from + nx, to + end);
  _mm_sfence();
}

double change_of_row(const float* before, const float* after, std::int64_t nx) {
  constexpr int kSums = 8;
  double sums[kSums] = {};
  std::int64_t x = 0;
  for (; x + kSums <= nx; x += kSums) {
    for (int i = 0; i < kSums; ++i) {
      const auto change = static_cast<double>(after[x + i] - before[x + i]);
      sums[i] += change * change;
    }
  }
  double sum = 0;
  for (const double each : sums) sum += each;
  for (; x < nx; ++x) {
    const auto change = static_cast<double>(after[x] - before[x]);
    sum += change * change;
  }
  return sum;
}

}  // namespace duet
