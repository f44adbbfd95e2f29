#include "training/models/linear.h"

#include <utility>

namespace duet {

Linear::Linear(const Tensor& weight, const Tensor& gradient, AdapterTensors adapter)
    : weight_(weight), gradient_(gradient), adapter_(std::move(adapter)) {}

void Linear::forward(Operations& operations, Stream& stream, const Tensor& x,
                     const Tensor& y) const {
  if (split_) return split_->forward(operations, stream, x, weight_, y);
  if (quantised_) {
    quantised_->forward(operations, stream, x, weight_, {}, y);
  } else {
    operations.run(stream, LinearForward{x, weight_, y});
  }
  if (has_adapter()) add_adapter(operations, stream, x, y);
}

void Linear::forward_add(Operations& operations, Stream& stream, const Tensor& x,
                         const Tensor& residual, const Tensor& y) const {
  if (split_) return split_->forward_add(operations, stream, x, weight_, residual, y);
  if (quantised_) {
    quantised_->forward(operations, stream, x, weight_, residual, y);
  } else {
    operations.run(stream, LinearAdd{x, weight_, residual, y});
  }
  if (has_adapter()) add_adapter(operations, stream, x, y);
}

void Linear::forward_gelu(Operations& operations, Stream& stream, const Tensor& x,
                          const Tensor& hidden, const Tensor& activated) const {
  if (split_) return split_->forward_gelu(operations, stream, x, weight_, hidden, activated);
  operations.run(stream, LinearGelu{x, weight_, hidden, activated});
}

void Linear::add_adapter(Operations& operations, Stream& stream, const Tensor& x,
                         const Tensor& y) const {
  operations.run(stream, LinearForward{x, adapter_.a, adapter_.reduced});
  operations.run(stream, Scale{adapter_.scale, adapter_.reduced});
  operations.run(stream, LinearAdd{adapter_.reduced, adapter_.b, y, y});
}

void Linear::keep(Operations& operations, Stream& stream, const Tensor& x) const {
  if (quantised_) quantised_->keep(operations, stream, x);
}

void Linear::backward(Operations& operations, Stream& stream, const Tensor& dy, const Tensor& x,
                      const Tensor& dx, Accumulate gradients) const {
  if (split_) {
    return split_->backward(operations, stream, {dy, x, gradient_, gradients}, weight_, dx);
  }
  if (quantised_) {
    quantised_->backward(operations, stream, dy, weight_, dx, gradient_, gradients);
  } else {
    if (gradient_.count() > 0) {
      operations.run(stream, LinearBackwardWeight{dy, x, gradient_, gradients});
    }
    operations.run(stream, LinearBackwardInput{dy, weight_, dx, Accumulate::no});
  }
  if (!has_adapter()) return;
  const AdapterTensors& own = adapter_;
  operations.run(stream, LinearBackwardWeight{dy, own.reduced, own.b_gradient, gradients});
  operations.run(stream, KeepBlocks{own.parts, own.b_gradient});
  operations.run(stream, LinearBackwardInput{dy, own.b, own.reduced_gradient, Accumulate::no});
  operations.run(stream, Scale{own.scale, own.reduced_gradient});
  operations.run(stream, LinearBackwardWeight{own.reduced_gradient, x, own.a_gradient, gradients});
  operations.run(stream, LinearBackwardInput{own.reduced_gradient, own.a, dx, Accumulate::yes});
}

void Linear::backward_gelu(Operations& operations, Stream& stream, const Tensor& dy,
                           const Tensor& x, const Tensor& hidden, const Tensor& dhidden,
                           Accumulate gradients) const {
  const LinearBackwardWeight of_weight{dy, x, gradient_, gradients};
  if (split_) {
    return split_->backward_gelu(operations, stream, of_weight, weight_, hidden, dhidden);
  }
  operations.run(stream, of_weight);
  operations.run(stream, LinearBackwardGelu{dy, weight_, hidden, dhidden});
}

}  // namespace duet
