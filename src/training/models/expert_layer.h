// The FFN of a block as a mixture of experts: each token goes to the experts with its largest
// logits, each an FFN with SwiGLU, and gets the sum of their results by the softmax of these
// logits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "training/models/decoder_shape.h"
#include "training/models/memory_plan.h"
#include "training/models/row_exchange.h"
#include "training/operations/operations.h"

namespace duet {

// Weights and their gradients: (experts, width), (own experts * 2 * FFN width, width), in each
// expert's rows gate and up, (own experts * width, FFN width).
struct ExpertWeights {
  Tensor router, in, out;
};

// What the layers of one model share.
struct ExpertWorkspace {
  // Of this rank's tokens: logits and their gradients, routing, gradients of weights, sums that
  // have come back.
  Tensor logits, routing, dweights, summed;
  // Of the tokens of all ranks, where ranks divide the experts: what is gathered, and sums over
  // this rank's experts, with the gradients of weights.
  Tensor gathered, sums;
  Tensor all_dweights;
  // Rows of the rank's experts: which tokens they are, and gradients of results, or of the rows,
  // and of the activated FFN.
  Tensor index, drows, dactivated;
};

// What the backward pass needs of the forward pass, of the tokens of all ranks: their routing,
// where each choice stands in the rows, and where the rows of each expert begin; and the rows, as
// they are before and after each product.
struct ExpertActivations {
  Tensor routing, places, offsets;
  Tensor rows, hidden, activated, results;
};

// Each rank has a batch of its own and a range of the experts, in order: tokens are gathered from
// all ranks, and sums over a rank's experts scattered. Rows have room for the case that all tokens
// choose this rank's experts. Each call enqueues and returns.
class ExpertLayer {
 public:
  // `exchange` must outlive it; one rank does not use it.
  ExpertLayer(const DecoderShape& shape, RowExchange& exchange, const ExpertWeights& weights,
              const ExpertWeights& gradients, const ExpertWorkspace& workspace,
              const ExpertActivations& activations)
      : shape_(shape),
        exchange_(&exchange),
        weights_(weights),
        gradients_(gradients),
        workspace_(workspace),
        kept_(activations) {}

  // y = residual + experts(x).
  void forward(Operations& operations, Stream& stream, const Tensor& x, const Tensor& residual,
               const Tensor& y) const;
  // What the backward pass needs, without the sums.
  void recompute(Operations& operations, Stream& stream, const Tensor& x) const;
  // Writes dx, and the gradients of the weights or adds to them.
  void backward(Operations& operations, Stream& stream, const Tensor& dy, const Tensor& x,
                const Tensor& dx, Accumulate gradients) const;
  // A routing and tokens for passes without an exchange, like those of one.
  void begin(Operations& operations, Stream& stream) const;

 private:
  bool is_split() const { return shape_.expert_shard.ranks > 1; }
  RowRange own_rows() const;
  GroupedRows groups() const;
  // Those of all ranks.
  const Tensor& gather(Stream& stream, const Tensor& own, const Tensor& all) const;
  // Sums over this rank's experts, which `add` writes, become those of this rank's tokens over all.
  void sum(Stream& stream, const Tensor& partial, const Tensor& own,
           const std::function<void(const Tensor&)>& add) const;
  void route(Operations& operations, Stream& stream, const Tensor& x) const;
  void multiply(Operations& operations, Stream& stream, const Tensor& x) const;
  void backward_experts(Operations& operations, Stream& stream, Accumulate gradients) const;

  DecoderShape shape_;
  RowExchange* exchange_;
  ExpertWeights weights_, gradients_;
  ExpertWorkspace workspace_;
  ExpertActivations kept_;
};

// Rows that a rank has room for.
std::int64_t most_expert_rows(const DecoderShape& shape);
// Rows are of type `compute`.
ExpertWorkspace lay_out_expert_workspace(MemoryPlan& memory, const DecoderShape& shape,
                                         DType compute);
ExpertActivations lay_out_expert_activations(MemoryPlan& memory, const DecoderShape& shape,
                                             const std::string& name, DType compute);

}  // namespace duet
