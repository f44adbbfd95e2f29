#include "training/models/norm.h"

namespace duet {

const Tensor& Norm::x() const {
  return std::visit([](const auto& tensors) -> const Tensor& { return tensors.x; }, tensors_);
}

void Norm::forward(Operations& operations, Stream& stream, const Tensor& y) const {
  if (const auto* const layer = std::get_if<NormTensors>(&tensors_)) {
    return operations.run(stream, LayerNorm{*layer, y});
  }
  operations.run(stream, RmsNorm{std::get<RmsNormTensors>(tensors_), y});
}

void Norm::backward(Operations& operations, Stream& stream, const Tensor& dy, const Tensor& dx,
                    Accumulate accumulate, Accumulate gradients) const {
  if (const auto* const layer = std::get_if<NormTensors>(&tensors_)) {
    return operations.run(stream, LayerNormBackward{*layer, dy, dx, accumulate, gradients});
  }
  const auto& tensors = std::get<RmsNormTensors>(tensors_);
  operations.run(stream, RmsNormBackward{tensors, dy, dx, accumulate, gradients});
}

}  // namespace duet
