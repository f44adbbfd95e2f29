// How the ranks that divide a model's linears exchange rows of activations. Each rank has an equal
// range of the rows, by rank.
#pragma once

#include <functional>

#include "device/stream.h"
#include "training/operations/tensor.h"

namespace duet {

// All ranks make the same calls in the same order. Each enqueues and returns, and can be captured;
// later work of the stream runs after it.
class RowExchange {
 public:
  // Enqueues the product that takes some rows, or computes them: those of `all` or `partial`, which
  // stand in `at`, or are to come there. It is called once or for several ranges that together are
  // all rows, in any order and on any stream of the device; no two of them may run at the same
  // time, since they share a workspace.
  using Gemm = std::function<void(Stream&, const RowRange&, const Tensor& at)>;

  virtual ~RowExchange() = default;
  // `own` of all ranks become `all`, by rank. What `gemm` enqueues, if there is one, runs when its
  // rows are there.
  virtual void gather(Stream& stream, const Tensor& own, const Tensor& all, const Gemm& gemm) = 0;
  // `own` becomes this rank's rows of the sum of all ranks' `partial`, added in the order of ranks.
  // `gemm` makes the rows of `partial`, which then has no defined contents; without one they are
  // there.
  virtual void scatter(Stream& stream, const Tensor& partial, const Tensor& own,
                       const Gemm& gemm) = 0;
};

// The exchange of a model's passes: by another one, which those set that run them. Without it
// nothing comes from other ranks: what is gathered and summed stays as it was, so that a pass takes
// the time that it would take if communication cost nothing, and its results are not valid.
class ModelRowExchange : public RowExchange {
 public:
  // nullptr: none. Returns the one before.
  RowExchange* set(RowExchange* by);
  void gather(Stream& stream, const Tensor& own, const Tensor& all, const Gemm& gemm) override;
  void scatter(Stream& stream, const Tensor& partial, const Tensor& own, const Gemm& gemm) override;

 private:
  RowExchange* by_ = nullptr;
};

}  // namespace duet
