// The three products of a linear in fp8. Each tensor is scaled by its current magnitude.
#pragma once

#include "training/models/memory_plan.h"
#include "training/operations/operations.h"

namespace duet {

// Memory of one call, which all linears of a model share. Tensors are flat, of fp8_e4m3, and may
// contain other types of fp8 as well.
struct QuantisedWorkspace {
  Tensor values;      // of x, and of dy
  Tensor transposed;  // of dy
  Tensor weight;      // either form
  Tensor magnitude;   // of x, and of dy: (1, 1), fp32
  Tensor scale;       // of dy, alike
  Tensor weight_scale;
};
// For linears with `rows` rows (tokens), at most `widest` columns in and out, and weights of at
// most `largest_weight` elements.
QuantisedWorkspace lay_out_quantised(MemoryPlan& memory, std::int64_t rows, std::int64_t widest,
                                     std::int64_t largest_weight);

// What a forward pass keeps for the backward pass.
struct QuantisedInput {
  Tensor transposed;  // of x: (in, rows), fp8_e4m3; without elements if the weight is frozen
  Tensor scale;       // of x: (1, 1), fp32
};
QuantisedInput lay_out_quantised_input(MemoryPlan& memory, const std::string& name, std::int64_t in,
                                       std::int64_t rows);

// Each call enqueues and returns. The weight must not change between a forward pass and its
// backward pass.
class QuantisedLinear {
 public:
  // weight_magnitude: (1, 1), fp32, of this linear alone. gradients: the type of dy in fp8.
  QuantisedLinear(const QuantisedInput& kept, const Tensor& weight_magnitude,
                  const QuantisedWorkspace& workspace, DType gradients)
      : kept_(kept),
        weight_magnitude_(weight_magnitude),
        workspace_(workspace),
        gradients_(gradients) {}

  // y (rows, out) = x w^T (+ residual, if that has elements), with w (out, in). Keeps x.
  void forward(Operations& operations, Stream& stream, const Tensor& x, const Tensor& w,
               const Tensor& residual, const Tensor& y) const;
  // Keeps x as forward() does, if x was recomputed.
  void keep(Operations& operations, Stream& stream, const Tensor& x) const;
  // dx = dy w. If dw has elements, dw = dy^T x or dw += dy^T x, with the x that was kept.
  void backward(Operations& operations, Stream& stream, const Tensor& dy, const Tensor& w,
                const Tensor& dx, const Tensor& dw, Accumulate gradients) const;

  const QuantisedInput& kept() const { return kept_; }

 private:
  QuantisedInput kept_;
  Tensor weight_magnitude_;
  QuantisedWorkspace workspace_;
  DType gradients_ = DType::fp8_e4m3;
};

}  // namespace duet
