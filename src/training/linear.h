// A linear of a model: y = x w^T.
#pragma once

#include "training/operations.h"

namespace duet {

// Each call enqueues and returns. Rows of x, y and their gradients are tokens.
class Linear {
 public:
  Linear() = default;
  // w: (out, in), and its gradient.
  Linear(const Tensor& weight, const Tensor& gradient) : weight_(weight), gradient_(gradient) {}

  void forward(Operations& operations, Stream& stream, const Tensor& x, const Tensor& y) const;
  // y = residual + x w^T.
  void forward_add(Operations& operations, Stream& stream, const Tensor& x, const Tensor& residual,
                   const Tensor& y) const;
  // Writes dx, and the weight's gradient or adds to it.
  void backward(Operations& operations, Stream& stream, const Tensor& dy, const Tensor& x,
                const Tensor& dx, Accumulate gradients) const;

 private:
  Tensor weight_, gradient_;
};

}  // namespace duet
