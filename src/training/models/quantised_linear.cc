#include "training/models/quantised_linear.h"

namespace duet {
namespace {

// The beginning of flat memory, as a matrix.
Tensor part_of(const Tensor& memory, std::int64_t rows, std::int64_t columns,
               DType fp8 = DType::fp8_e4m3) {
  Tensor part{{}, rows, columns, fp8};
  part.span = memory.span.slice(0, part.bytes());
  return part;
}

}  // namespace

QuantisedWorkspace lay_out_quantised(MemoryPlan& memory, std::int64_t rows, std::int64_t widest,
                                     std::int64_t largest_weight) {
  const auto add = [&](const char* name, std::int64_t count, DType dtype) {
    return memory.add(MemoryUse::workspace, name, 1, count, dtype);
  };
  return {add("quantised", rows * widest, DType::fp8_e4m3),
          add("quantised gradient, transposed", rows * widest, DType::fp8_e4m3),
          add("quantised weight", largest_weight, DType::fp8_e4m3),
          add("magnitude", 1, DType::fp32),
          add("scale", 1, DType::fp32),
          add("scale of a weight", 1, DType::fp32)};
}

QuantisedInput lay_out_quantised_input(MemoryPlan& memory, const std::string& name, std::int64_t in,
                                       std::int64_t rows) {
  return {memory.add(MemoryUse::activations, name + " quantised input", in, rows, DType::fp8_e4m3),
          memory.add(MemoryUse::activations, name + " scale", 1, 1)};
}

void QuantisedLinear::forward(Operations& operations, Stream& stream, const Tensor& x,
                              const Tensor& w, const Tensor& residual, const Tensor& y) const {
  const QuantisedWorkspace& own = workspace_;
  const Quantised input{part_of(own.values, x.rows, x.columns), kept_.transposed, kept_.scale};
  const Quantised weight{part_of(own.weight, w.rows, w.columns), {}, own.weight_scale};
  operations.run(stream, Magnitude{x, own.magnitude});
  operations.run(stream, Quantise{x, own.magnitude, input});
  operations.run(stream, Magnitude{w, weight_magnitude_});
  operations.run(stream, Quantise{w, weight_magnitude_, weight});
  operations.run(stream,
                 MultiplyScaled{input.by_rows(), weight.by_rows(), residual, y, Sums::fast});
}

void QuantisedLinear::keep(Operations& operations, Stream& stream, const Tensor& x) const {
  if (kept_.transposed.count() == 0) return;
  operations.run(stream, Magnitude{x, workspace_.magnitude});
  operations.run(stream, Quantise{x, workspace_.magnitude, {{}, kept_.transposed, kept_.scale}});
}

void QuantisedLinear::backward(Operations& operations, Stream& stream, const Tensor& dy,
                               const Tensor& w, const Tensor& dx, const Tensor& dw,
                               Accumulate gradients) const {
  const QuantisedWorkspace& own = workspace_;
  Quantised gradient{part_of(own.values, dy.rows, dy.columns, gradients_), {}, own.scale};
  if (dw.count() > 0) {
    gradient.transposed = part_of(own.transposed, dy.columns, dy.rows, gradients_);
  }
  const Quantised weight{{}, part_of(own.weight, w.columns, w.rows), own.weight_scale};
  operations.run(stream, Magnitude{dy, own.magnitude});
  operations.run(stream, Quantise{dy, own.magnitude, gradient});
  operations.run(stream, Quantise{w, weight_magnitude_, weight});
  if (dw.count() > 0) {
    const ScaledTensor x{kept_.transposed, kept_.scale};
    const Tensor addend = gradients == Accumulate::yes ? dw : Tensor();
    operations.run(stream, MultiplyScaled{gradient.by_columns(), x, addend, dw, Sums::precise});
  }
  operations.run(stream,
                 MultiplyScaled{gradient.by_rows(), weight.by_columns(), {}, dx, Sums::precise});
}

}  // namespace duet
