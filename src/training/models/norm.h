// A norm of a model: a LayerNorm or an RMSNorm.
#pragma once

#include <variant>

#include "training/operations/operations.h"

namespace duet {

// Each call enqueues and returns.
class Norm {
 public:
  Norm() = default;
  explicit Norm(const NormTensors& tensors) : tensors_(tensors) {}
  explicit Norm(const RmsNormTensors& tensors) : tensors_(tensors) {}

  const Tensor& x() const;
  void forward(Operations& operations, Stream& stream, const Tensor& y) const;
  // Writes dx or adds to it, as `accumulate` says, and the gradients of parameters, as `gradients`
  // says. dx may be dy only in an RMSNorm.
  void backward(Operations& operations, Stream& stream, const Tensor& dy, const Tensor& dx,
                Accumulate accumulate, Accumulate gradients) const;

 private:
  std::variant<NormTensors, RmsNormTensors> tensors_;
};

}  // namespace duet
