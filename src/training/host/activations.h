#pragma once

#include "training/host/matrix.h"

namespace duet {

// y = gelu(x) (gemm/epilogue.h), of `count` elements. y may be x.
template <class Real>
void gelu(const Real* x, Real* y, std::int64_t count);

// dx = dy * dgelu(x)/dx. dx may be dy or x.
template <class Real>
void gelu_backward(const Real* x, const Real* dy, Real* dx, std::int64_t count);

// y = max(x, 0) of `count` elements, NaN of NaN. y may be x.
template <class Real>
void relu(const Real* x, Real* y, std::int64_t count);

// dx = 0 where x <= 0, else dy. `x` may also be relu's result. dx may be dy or x.
template <class Real>
void relu_backward(const Real* x, const Real* dy, Real* dx, std::int64_t count);

// y (rows, columns) = gate * up / (1 + exp(-gate)), gate_up (rows, 2 * columns): in each row the
// gate's columns and after them up's (Shazeer: GLU Variants Improve Transformer, 2020).
template <class Real>
void swiglu(Matrix<const Real> gate_up, Matrix<Real> y);

// dgate_up, shaped as gate_up, which it may be, from dy, shaped as y.
template <class Real>
void swiglu_backward(Matrix<const Real> gate_up, Matrix<const Real> dy, Matrix<Real> dgate_up);

}  // namespace duet
