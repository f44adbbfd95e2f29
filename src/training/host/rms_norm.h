#pragma once

#include "training/host/matrix.h"
#include "training/operations/accumulate.h"

namespace duet {

// For each row (Zhang, Sennrich: Root Mean Square Layer Normalization, 2019):
//   inverse_rms = 1 / sqrt(sum(x^2) / columns + eps), y = x * inverse_rms * weight
// weight (columns), inverse_rms (rows).
template <class Real>
void rms_norm(Matrix<const Real> x, const Real* weight, Matrix<Real> y, Real* inverse_rms);

// What rms_norm() read and kept.
template <class Real>
struct RmsNormed {
  Matrix<const Real> x;
  const Real* weight;
  const Real* inverse_rms;
};

// With n = x * inverse_rms and g = dy * weight, for each row:
//   dx = inverse_rms * (g - n * sum(g * n) / columns)
// which is written to dx or added to it. dx may be dy.
template <class Real>
void rms_norm_backward_input(const RmsNormed<Real>& forward, Matrix<const Real> dy, Matrix<Real> dx,
                             Accumulate accumulate);

// dweight += sum over rows of dy * x * inverse_rms.
template <class Real>
void rms_norm_backward_weight(const RmsNormed<Real>& forward, Matrix<const Real> dy, Real* dweight);

}  // namespace duet
