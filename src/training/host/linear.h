#pragma once

#include "training/host/matrix.h"

namespace duet {

// y (rows, out) = x (rows, in) * w^T, w (out, in).
template <class Real>
void linear(Matrix<const Real> x, Matrix<const Real> w, Matrix<Real> y);

// dx (rows, in) = dy (rows, out) * w.
template <class Real>
void linear_backward_input(Matrix<const Real> dy, Matrix<const Real> w, Matrix<Real> dx);

// dw (out, in) += dy^T * x.
template <class Real>
void linear_backward_weight(Matrix<const Real> dy, Matrix<const Real> x, Matrix<Real> dw);

}  // namespace duet
