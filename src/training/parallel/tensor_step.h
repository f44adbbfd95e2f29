// Tensor parallelism with sequence parallelism (as Megatron-LM): ranks divide the weights of
// linears and share each batch, and exchange rows of activations inside both passes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "training/models/row_exchange.h"
#include "training/parallel/parallel.h"

namespace duet {

// Rows by one call each, on the stream of the passes. A product that takes or makes them is made
// within the call, by ranges of rows, where the session's engine can (MatrixRows).
class PlannedRowExchange : public RowExchange {
 public:
  // While it lives, calls make their plans instead of communicating. Each pair of buffers has one,
  // and calls are kept in their order.
  class Planning {
   public:
    Planning(PlannedRowExchange& exchange, Rank& rank, CollectiveSession& session);
    ~Planning() { exchange_.planning_ = nullptr; }
    Planning(const Planning&) = delete;
    Planning& operator=(const Planning&) = delete;

   private:
    friend class PlannedRowExchange;
    PlannedRowExchange& exchange_;
    Rank& rank_;
    CollectiveSession& session_;
  };

  void gather(Stream& stream, const Tensor& own, const Tensor& all, const Gemm& gemm) override;
  void scatter(Stream& stream, const Tensor& partial, const Tensor& own, const Gemm& gemm) override;

  // What was planned, in the order of the calls.
  const std::vector<CollectivePlan*>& calls() const { return calls_; }
  // The algorithms of the first planned call that gathers and of the first that scatters.
  std::string algorithms() const;
  double wire_bytes() const;  // of all calls
  void set_timeline(StepTimeline* timeline) { timeline_ = timeline; }

 private:
  std::string algorithm(CollectiveKind kind) const;  // "": none was planned
  // Plans have fixed buffers: a pair of buffers has one plan, and one with products.
  using Key = std::tuple<CollectiveKind, const void*, const void*, std::uint64_t, bool>;

  // `own` tells the elements of a rank.
  void exchange(Stream& stream, CollectiveKind kind, const Tensor& own, const Tensor& all,
                const Gemm& gemm);
  void plan(std::unique_ptr<CollectivePlan>& plan, Stream& stream, CollectiveKind kind,
            const Tensor& own, const Tensor& all, const Gemm& gemm);

  Planning* planning_ = nullptr;
  std::map<Key, std::unique_ptr<CollectivePlan>> plans_;
  std::vector<CollectivePlan*> calls_;
  std::map<CollectiveKind, CollectivePlan*> first_of_kind_;
  StepTimeline* timeline_ = nullptr;
};

class TensorStep : public ParallelStep {
 public:
  // The model must be a tensor shard of the rank's. Collective, as CollectiveSession::plan(). Runs
  // both passes once, to plan what they exchange.
  TensorStep(Rank& rank, CollectiveSession& session, Model& model);

  void forward(Stream& stream) override { model_.forward(stream); }
  void backward(Stream& stream, Accumulate gradients) override;
  // What backward() does behind the model's pass and what divides its gradients.
  void sum_partial_gradients(Stream& stream);
  void sum_squares(Stream& stream) override { sum_squares_->enqueue(stream); }
  void communicate(Stream& stream) override;
  void set_timeline(StepTimeline* timeline) override;
  double wire_bytes() const override;
  std::map<std::string, std::string> notes() const override;

 private:
  void plan_partials(Rank& rank, CollectiveSession& session);

  Model& model_;
  PlannedRowExchange rows_;
  WithExchange exchanging_;  // of the model's passes, by rows_
  // Gradients of which each rank has an addend, where they are summed, and their place there. Ranks
  // whose shares have others of them sum as many: zeros stand for them.
  struct Partial {
    Span gradients, addends, sums;
  };
  std::vector<Partial> partials_;  // empty: they are summed in place
  Buffer addends_, sums_;
  std::unique_ptr<CollectivePlan> sum_partials_;  // null: there are none
  std::unique_ptr<CollectivePlan> sum_squares_;
  StepTimeline* timeline_ = nullptr;
};

}  // namespace duet
