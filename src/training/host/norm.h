#pragma once

#include "training/host/matrix.h"
#include "training/operations/accumulate.h"

namespace duet {

// What a norm reads and keeps. weight and bias (columns), mean and inverse (rows). An RMSNorm has
// neither bias nor mean.
template <class Real>
struct NormRows {
  Matrix<const Real> x;
  const Real *weight, *bias;
  Real *mean, *inverse;
};

// For each row, LayerNorm (Ba, Kiros, Hinton: Layer Normalization, 2016):
//   mean = sum(x) / columns, inverse = 1 / sqrt(sum((x - mean)^2) / columns + eps)
//   y = (x - mean) * inverse * weight + bias
// and RMSNorm (Zhang, Sennrich: Root Mean Square Layer Normalization, 2019), without mean and bias.
template <class Real>
void norm(const NormRows<Real>& norm, Matrix<Real> y);

// With n = (x - mean) * inverse and g = dy * weight, for each row:
//   dx = inverse * (g - sum(g) / columns - n * sum(g * n) / columns)
// of an RMSNorm without sum(g), which is written to dx or added to it. dx may be dy.
template <class Real>
void norm_backward_input(const NormRows<Real>& norm, Matrix<const Real> dy, Matrix<Real> dx,
                         Accumulate accumulate);

// dweight += sum over rows of dy * n, dbias += sum over rows of dy.
template <class Real>
void norm_backward_parameters(const NormRows<Real>& norm, Matrix<const Real> dy, Real* dweight,
                              Real* dbias);

}  // namespace duet
