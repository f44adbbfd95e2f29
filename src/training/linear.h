// A linear of a model: y = x w^T, which may have adapters.
#pragma once

#include "training/lora.h"
#include "training/operations.h"

namespace duet {

// Each call enqueues and returns. Rows of x, y and their gradients are tokens.
class Linear {
 public:
  Linear() = default;
  // w: (out, in). Without elements in `gradient` the weight is frozen.
  Linear(const Tensor& weight, const Tensor& gradient, AdapterTensors adapter = {});

  void forward(Operations& operations, Stream& stream, const Tensor& x, const Tensor& y) const;
  // y = residual + x w^T.
  void forward_add(Operations& operations, Stream& stream, const Tensor& x, const Tensor& residual,
                   const Tensor& y) const;
  // Writes dx, and the gradients of what is not frozen or adds to them. Behind the forward pass of
  // the same x.
  void backward(Operations& operations, Stream& stream, const Tensor& dy, const Tensor& x,
                const Tensor& dx, Accumulate gradients) const;

 private:
  bool has_adapter() const { return adapter_.a.count() > 0; }
  void add_adapter(Operations& operations, Stream& stream, const Tensor& x, const Tensor& y) const;

  Tensor weight_, gradient_;
  AdapterTensors adapter_;
};

}  // namespace duet
