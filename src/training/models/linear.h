// A linear of a model: y = x w^T, which may have adapters.
#pragma once

#include <optional>

#include "training/models/quantised_linear.h"
#include "training/models/split_linear.h"
#include "training/operations/lora.h"
#include "training/operations/operations.h"

namespace duet {

// Each call enqueues and returns. Rows of x, y and their gradients are tokens.
class Linear {
 public:
  Linear() = default;
  // w: (out, in). Without elements in `gradient` the weight is frozen.
  Linear(const Tensor& weight, const Tensor& gradient, AdapterTensors adapter = {});

  // Multiplies in fp8 from now on, adapters apart: the weight's gradient is then that of the x that
  // forward() kept.
  void quantise(const QuantisedLinear& quantised) { quantised_ = quantised; }
  // nullptr: it does not multiply in fp8.
  const QuantisedLinear* quantised() const { return quantised_ ? &*quantised_ : nullptr; }

  // From now on ranks have parts of the weight. It has no adapter and does not multiply in fp8; by
  // outputs it has forward() and forward_gelu(), by inputs forward_add() and backward_gelu().
  void split(const SplitLinear& split) { split_ = split; }

  void forward(Operations& operations, Stream& stream, const Tensor& x, const Tensor& y) const;
  // y = residual + x w^T.
  void forward_add(Operations& operations, Stream& stream, const Tensor& x, const Tensor& residual,
                   const Tensor& y) const;
  // hidden = x w^T, activated = gelu(hidden); neither in fp8 nor with adapters, as backward_gelu().
  void forward_gelu(Operations& operations, Stream& stream, const Tensor& x, const Tensor& hidden,
                    const Tensor& activated) const;
  // Keeps of x what forward() does, where x was computed again and y was not.
  void keep(Operations& operations, Stream& stream, const Tensor& x) const;
  // Writes dx, and the gradients of what is not frozen or adds to them. Behind the forward pass of
  // the same x.
  void backward(Operations& operations, Stream& stream, const Tensor& dy, const Tensor& x,
                const Tensor& dx, Accumulate gradients) const;
  // The same where x was gelu(hidden): writes dhidden instead of dx.
  void backward_gelu(Operations& operations, Stream& stream, const Tensor& dy, const Tensor& x,
                     const Tensor& hidden, const Tensor& dhidden, Accumulate gradients) const;

 private:
  bool has_adapter() const { return adapter_.a.count() > 0; }
  void add_adapter(Operations& operations, Stream& stream, const Tensor& x, const Tensor& y) const;

  Tensor weight_, gradient_;
  AdapterTensors adapter_;
  std::optional<QuantisedLinear> quantised_;
  std::optional<SplitLinear> split_;
};

}  // namespace duet
