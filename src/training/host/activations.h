#pragma once

#include <cstdint>

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

}  // namespace duet
