#include "timing/student.h"

#include <cmath>

namespace duet {

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
