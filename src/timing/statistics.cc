#include "timing/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "timing/median_interval.h"

namespace duet {

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) throw BadArgument("quantile of no samples");
  const double position = q * static_cast<double>(sorted.size() - 1);
  const std::size_t below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return sorted[below] + fraction * (sorted[above] - sorted[below]);
}

Summary summarise(std::vector<double> samples) {
  Summary s;
  s.n = samples.size();
  if (samples.empty()) return s;
  const MedianInterval interval = median_interval(samples);
  s.ci_low = interval.low;
  s.ci_high = interval.high;
  s.bounded = interval.bounded;
  s.ci_width = interval.width;
  s.drifting = !interval.bounded && s.n >= kFewestThatDrift;
  s.widening = interval.widening;
  std::sort(samples.begin(), samples.end());
  s.median = quantile(samples, 0.5);
  s.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(s.n);
  s.min = samples.front();
  s.max = samples.back();
  s.p5 = quantile(samples, 0.05);
  s.p95 = quantile(samples, 0.95);
  s.p99 = quantile(samples, 0.99);
  return s;
}

double normal_tail(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

double normal_quantile(double p) {
  if (p > 0.5) return -normal_quantile(1 - p);
  return -falling_root([p](double z) { return normal_tail(z) - p; });
}

double student_tails(double t, double freedom) {
  if (std::isinf(freedom)) return 2 * normal_tail(t);
  const double z =
      (8 * freedom + 1) / (8 * freedom + 3) * std::sqrt(freedom * std::log1p(t * t / freedom));
  return 2 * normal_tail(z);
}

double student_quantile(double outside, double freedom) {
  return falling_root([=](double t) { return student_tails(t, freedom) - outside; });
}

double falling_root(const std::function<double(double)>& falling) {
  constexpr double kFarthest = 1e6;
  constexpr int kHalvings = 50;
  double low = 0, high = 1;
  while (falling(high) > 0 && high < kFarthest) high *= 2;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (falling(middle) > 0 ? low : high) = middle;
  }
  return high;
}

}  // namespace duet
