// Data-parallel training: every rank has all parameters and a batch of its own, and the gradients
// of all ranks are summed by all_reduce beside the backward pass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training/operations/forked_stream.h"
#include "training/parallel/parallel.h"

namespace duet {

// Gradients in the order in which a backward pass completes them, cut into buckets. A bucket is
// summed as soon as all of it is complete.
class GradientBuckets : public ParallelStep {
 public:
  // `ranges`: in the order in which the model's backward pass completes them. A bucket ends once it
  // has `least_bytes`; parameters with and without weight decay have separate buckets. Collective,
  // as CollectiveSession::plan(). The model must have its memory; model and session must outlive
  // this.
  GradientBuckets(Rank& rank, CollectiveSession& session, Model& model,
                  const std::vector<ParameterRange>& ranges, std::uint64_t least_bytes,
                  const StreamOptions& options);

  void forward(Stream& stream) override { model_.forward(stream); }
  void backward(Stream& stream, Accumulate gradients) override;
  void sum_squares(Stream&) override {}  // all ranks have the gradients
  void communicate(Stream& stream) override;
  void set_timeline(StepTimeline* timeline) override { sums_.set_timeline(timeline); }
  double wire_bytes() const override;
  std::map<std::string, std::string> notes() const override;

  // The collective that sums gradients.
  static Collective sum(DType dtype, std::int64_t elements);
  std::size_t count() const { return buckets_.size(); }

 private:
  struct Bucket {
    std::size_t behind;  // the range that completes it
    std::uint64_t bytes;
    std::unique_ptr<CollectivePlan> plan;
  };

  Model& model_;
  ForkedStream sums_;
  std::vector<Bucket> buckets_;  // by `behind`
};

}  // namespace duet
