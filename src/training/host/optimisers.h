#pragma once

#include <cstdint>

namespace duet {

struct AdamWSettings {
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
};

// The state of one span of `count` parameters; first and second moments begin as zeros.
template <class Real>
struct AdamWSpan {
  Real* parameters;
  Real* first_moments;
  Real* second_moments;
  std::int64_t count;
};

// Step `step`, from 1 (Kingma, Ba: Adam, 2014, with the weight decay of Loshchilov, Hutter:
// Decoupled Weight Decay Regularization, 2017):
//   g = gradient_factor * gradient
//   m = beta1 * m + (1 - beta1) * g, v = beta2 * v + (1 - beta2) * g^2
//   w -= learning_rate * (m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + eps)
//                         + weight_decay * w)
template <class Real>
void adamw(const AdamWSettings& options, std::int64_t step, const Real* gradient,
           double gradient_factor, const AdamWSpan<Real>& span);

// parameters -= learning_rate * gradient_factor * gradient, of `count` elements.
template <class Real>
void sgd(double learning_rate, const Real* gradient, double gradient_factor, Real* parameters,
         std::int64_t count);

// The sum of squares, in double, in an order that depends on `count` alone.
template <class Real>
double squared_norm(const Real* gradient, std::int64_t count);

// min(1, limit / norm): what a gradient of norm `norm` is multiplied by to have at most norm
// `limit`. The norm is the square root of the sum of squared_norm() over all spans.
double clip_factor(double norm, double limit);

}  // namespace duet
