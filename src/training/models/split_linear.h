// The products of a linear whose weight ranks divide (tensor parallelism, as Megatron-LM does it),
// between activations of which each rank has a range of the rows (sequence parallelism).
#pragma once

#include "training/models/row_exchange.h"
#include "training/operations/operations.h"

namespace duet {

// outputs  each rank has some rows of the weight: x is this rank's range of rows, and y has all
//          rows of the outputs that the rank has
// inputs   each rank has some columns of the weight: x has all rows of the inputs that the rank
//          has, and y is this rank's range of rows
enum class SplitBy { outputs, inputs };

// What linears of one model share: in all rows, what is gathered for a product, and a rank's
// addends of what is scattered; and the sums of a rank's rows.
struct SplitWorkspace {
  Tensor gathered, partial, scattered;
};

// As Linear's functions of the same names, w being this rank's part. The exchange must outlive it.
class SplitLinear {
 public:
  SplitLinear(SplitBy by, RowExchange& exchange, const SplitWorkspace& workspace)
      : by_(by), exchange_(&exchange), workspace_(workspace) {}

  // By outputs.
  void forward(Operations& operations, Stream& stream, const Tensor& x, const Tensor& w,
               const Tensor& y) const;
  void forward_gelu(Operations& operations, Stream& stream, const Tensor& x, const Tensor& w,
                    const Tensor& hidden, const Tensor& activated) const;
  // By inputs.
  void forward_add(Operations& operations, Stream& stream, const Tensor& x, const Tensor& w,
                   const Tensor& residual, const Tensor& y) const;
  void backward_gelu(Operations& operations, Stream& stream, const LinearBackwardWeight& of_weight,
                     const Tensor& w, const Tensor& hidden, const Tensor& dhidden) const;
  // By either. `of_weight`: with the linear's dy and x, of which one is gathered.
  void backward(Operations& operations, Stream& stream, const LinearBackwardWeight& of_weight,
                const Tensor& w, const Tensor& dx) const;

 private:
  void backward_by_inputs(Operations& operations, Stream& stream, LinearBackwardWeight of_weight,
                          const RowExchange::Gemm& by_input) const;

  SplitBy by_;
  RowExchange* exchange_;
  SplitWorkspace workspace_;
};

}  // namespace duet
