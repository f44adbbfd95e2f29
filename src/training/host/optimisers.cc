#include "training/host/optimisers.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "training/host/vectors.h"

namespace duet {
namespace {

constexpr std::int64_t kOptimiserCount = 4096;  // elements of a task

}  // namespace

template <class Real>
void adamw(const AdamWSettings& options, std::int64_t step, const Real* gradient,
           double gradient_factor, const AdamWSpan<Real>& span) {
  const double power = static_cast<double>(step);
  const double correction1 = 1 - std::pow(options.beta1, power);
  const double correction2 = 1 - std::pow(options.beta2, power);
  const Real keep = static_cast<Real>(1 - options.learning_rate * options.weight_decay);
  const Real rate = static_cast<Real>(options.learning_rate / correction1);
  const Real inverse_root = static_cast<Real>(1 / std::sqrt(correction2));
  const Real beta1 = static_cast<Real>(options.beta1), beta2 = static_cast<Real>(options.beta2);
  const Real rest1 = static_cast<Real>(1 - options.beta1);
  const Real rest2 = static_cast<Real>(1 - options.beta2);
  const Real eps = static_cast<Real>(options.eps), factor = static_cast<Real>(gradient_factor);
  Real *const w = span.parameters, *const m = span.first_moments, *const v = span.second_moments;
#pragma omp parallel for schedule(static)
  for (std::int64_t begin = 0; begin < span.count; begin += kOptimiserCount) {
    const std::int64_t end = std::min(begin + kOptimiserCount, span.count);
    on_widest_vectors([&]() DUET_INLINE_BODY {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) {
        const Real g = factor * gradient[i];
        m[i] = beta1 * m[i] + rest1 * g;
        v[i] = beta2 * v[i] + rest2 * g * g;
        w[i] = keep * w[i] - rate * m[i] / (std::sqrt(v[i]) * inverse_root + eps);
      }
    });
  }
}

template <class Real>
void sgd(double learning_rate, const Real* gradient, double gradient_factor, Real* parameters,
         std::int64_t count) {
  const Real factor = static_cast<Real>(learning_rate * gradient_factor);
#pragma omp parallel for simd schedule(static)
  for (std::int64_t i = 0; i < count; ++i) parameters[i] -= factor * gradient[i];
}

template <class Real>
double squared_norm(const Real* gradient, std::int64_t count) {
  constexpr std::int64_t kSums = 16;
  std::vector<double> parts(
      static_cast<std::size_t>((count + kOptimiserCount - 1) / kOptimiserCount));
#pragma omp parallel for schedule(static)
  for (std::int64_t begin = 0; begin < count; begin += kOptimiserCount) {
    const std::int64_t end = std::min(begin + kOptimiserCount, count);
    double sums[kSums] = {};
    for (std::int64_t i = begin; i < end; ++i) {
      const double value = static_cast<double>(gradient[i]);
      sums[(i - begin) % kSums] += value * value;
    }
    double& part = parts[static_cast<std::size_t>(begin / kOptimiserCount)];
    for (const double sum : sums) part += sum;
  }
  double total = 0;
  for (const double part : parts) total += part;
  return total;
}

double clip_factor(double norm, double limit) { return norm > limit ? limit / norm : 1.0; }

#define DUET_INSTANTIATE(Real)                                                       \
  template void adamw<Real>(const AdamWSettings&, std::int64_t, const Real*, double, \
                            const AdamWSpan<Real>&);                                 \
  template void sgd<Real>(double, const Real*, double, Real*, std::int64_t);         \
  template double squared_norm<Real>(const Real*, std::int64_t);
DUET_INSTANTIATE(float)
DUET_INSTANTIATE(double)
#undef DUET_INSTANTIATE

}  // namespace duet
