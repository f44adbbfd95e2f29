#include "training/models/split_linear.h"

namespace duet {

void SplitLinear::forward(Operations& operations, Stream& stream, const Tensor& x, const Tensor& w,
                          const Tensor& y) const {
  const Tensor& all = workspace_.gathered;
  exchange_->gather(stream, x, all, [&](Stream& own, const RowRange& rows, const Tensor& at) {
    operations.run(own, LinearForward{at, w, rows_of(y, rows)});
  });
}

void SplitLinear::forward_gelu(Operations& operations, Stream& stream, const Tensor& x,
                               const Tensor& w, const Tensor& hidden,
                               const Tensor& activated) const {
  const Tensor& all = workspace_.gathered;
  exchange_->gather(stream, x, all, [&](Stream& own, const RowRange& rows, const Tensor& at) {
    operations.run(own, LinearGelu{at, w, rows_of(hidden, rows), rows_of(activated, rows)});
  });
}

void SplitLinear::forward_add(Operations& operations, Stream& stream, const Tensor& x,
                              const Tensor& w, const Tensor& residual, const Tensor& y) const {
  const Tensor& partial = workspace_.partial;
  const auto sums = [&](Stream& own, const RowRange& rows, const Tensor& at) {
    operations.run(own, LinearForward{rows_of(x, rows), w, at});
  };
  exchange_->scatter(stream, partial, workspace_.scattered, sums);
  operations.run(stream, Add{residual, workspace_.scattered, y});
}

void SplitLinear::backward(Operations& operations, Stream& stream,
                           const LinearBackwardWeight& of_weight, const Tensor& w,
                           const Tensor& dx) const {
  const Tensor &gathered = workspace_.gathered, &partial = workspace_.partial;
  if (by_ == SplitBy::inputs) {
    return backward_by_inputs(
        operations, stream, of_weight, [&](Stream& own, const RowRange& rows, const Tensor& at) {
          operations.run(own, LinearBackwardInput{at, w, rows_of(dx, rows), Accumulate::no});
        });
  }
  // The weight's gradient is a sum over rows: those that have come are added to those before.
  LinearBackwardWeight next = of_weight;
  const auto of_rows = [&](Stream& own, const RowRange& rows, const Tensor& at) {
    next.dy = rows_of(of_weight.dy, rows);
    next.x = at;
    operations.run(own, next);
    next.accumulate = Accumulate::yes;
  };
  exchange_->gather(stream, of_weight.x, gathered, of_rows);
  exchange_->scatter(stream, partial, dx, [&](Stream& own, const RowRange& rows, const Tensor& at) {
    operations.run(own, LinearBackwardInput{rows_of(of_weight.dy, rows), w, at, Accumulate::no});
  });
}

void SplitLinear::backward_gelu(Operations& operations, Stream& stream,
                                const LinearBackwardWeight& of_weight, const Tensor& w,
                                const Tensor& hidden, const Tensor& dhidden) const {
  backward_by_inputs(
      operations, stream, of_weight, [&](Stream& own, const RowRange& rows, const Tensor& at) {
        operations.run(own,
                       LinearBackwardGelu{at, w, rows_of(hidden, rows), rows_of(dhidden, rows)});
      });
}

void SplitLinear::backward_by_inputs(Operations& operations, Stream& stream,
                                     LinearBackwardWeight of_weight,
                                     const RowExchange::Gemm& by_input) const {
  exchange_->gather(stream, of_weight.dy, workspace_.gathered, by_input);
  of_weight.dy = workspace_.gathered;
  operations.run(stream, of_weight);
}

}  // namespace duet
