#pragma once

#include "training/host/matrix.h"
#include "training/operations/accumulate.h"

namespace duet {

// For each row (Ba, Kiros, Hinton: Layer Normalization, 2016):
//   mean = sum(x) / columns, inverse_deviation = 1 / sqrt(sum((x - mean)^2) / columns + eps)
//   y = (x - mean) * inverse_deviation * weight + bias
// weight and bias (columns), mean and inverse_deviation (rows).
template <class Real>
void layer_norm(Matrix<const Real> x, const Real* weight, const Real* bias, Matrix<Real> y,
                Real* mean, Real* inverse_deviation);

// What layer_norm() read and kept.
template <class Real>
struct LayerNormed {
  Matrix<const Real> x;
  const Real* weight;
  const Real* mean;
  const Real* inverse_deviation;
};

// With n = (x - mean) * inverse_deviation and g = dy * weight, for each row:
//   dx = inverse_deviation * (g - sum(g) / columns - n * sum(g * n) / columns)
// which is written to dx or added to it. dx may be dy.
template <class Real>
void layer_norm_backward_input(const LayerNormed<Real>& forward, Matrix<const Real> dy,
                               Matrix<Real> dx, Accumulate accumulate);

// dweight += sum over rows of dy * (x - mean) * inverse_deviation, dbias += sum over rows of dy.
template <class Real>
void layer_norm_backward_parameters(const LayerNormed<Real>& forward, Matrix<const Real> dy,
                                    Real* dweight, Real* dbias);

}  // namespace duet
