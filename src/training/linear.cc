#include "training/linear.h"

namespace duet {

void Linear::forward(Operations& operations, Stream& stream, const Tensor& x,
                     const Tensor& y) const {
  operations.linear(stream, x, weight_, y);
}

void Linear::forward_add(Operations& operations, Stream& stream, const Tensor& x,
                         const Tensor& residual, const Tensor& y) const {
  operations.linear_add(stream, x, weight_, residual, y);
}

void Linear::backward(Operations& operations, Stream& stream, const Tensor& dy, const Tensor& x,
                      const Tensor& dx, Accumulate gradients) const {
  operations.linear_backward_weight(stream, dy, x, gradient_, gradients);
  operations.linear_backward_input(stream, dy, weight_, dx);
}

}  // namespace duet
