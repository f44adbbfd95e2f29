// Expert parallelism: every rank has a batch of its own and a range of each layer's experts. Tokens
// go to the ranks of their experts and back inside both passes, and gradients of all that every
// rank has are summed as those of ddp are.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "training/parallel/gradient_buckets.h"
#include "training/parallel/tensor_step.h"

namespace duet {

class ExpertStep : public ParallelStep {
 public:
  // The model must have the rank's experts; `ranges`, `least_bytes` and `options` as those of
  // GradientBuckets. Collective, as CollectiveSession::plan(). Runs both passes once, to plan what
  // they exchange.
  ExpertStep(Rank& rank, CollectiveSession& session, Model& model,
             const std::vector<ParameterRange>& ranges, std::uint64_t least_bytes,
             const StreamOptions& options);

  void forward(Stream& stream) override { sums_->forward(stream); }
  void backward(Stream& stream, Accumulate gradients) override {
    sums_->backward(stream, gradients);
  }
  void sum_squares(Stream& stream) override { sum_squares_->enqueue(stream); }
  void communicate(Stream& stream) override;
  void set_timeline(StepTimeline* timeline) override;
  double wire_bytes() const override { return rows_.wire_bytes() + sums_->wire_bytes(); }
  std::map<std::string, std::string> notes() const override;

 private:
  PlannedRowExchange rows_;
  WithExchange exchanging_;  // of the model's passes, by rows_
  std::unique_ptr<GradientBuckets> sums_;
  std::unique_ptr<CollectivePlan> sum_squares_;
};

}  // namespace duet
