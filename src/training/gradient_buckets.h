// Data-parallel training: every rank has all parameters and a batch of its own, and the gradients
// of all ranks are summed by all_reduce beside the backward pass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/engine.h"
#include "training/forked_stream.h"
#include "training/model.h"

namespace duet {

// How ranks that train one model together sum their gradients.
struct GradientSums {
  CollectiveSession* session = nullptr;    // nullptr: they do not, and train models of their own
  std::uint64_t bucket_bytes = 25u << 20;  // see GradientBuckets
};

// Gradients in the order in which a backward pass completes them, cut into buckets. A bucket is
// summed as soon as all of it is complete.
class GradientBuckets {
 public:
  // `ranges`: as the model's backward pass tells of them. A bucket ends once it has `least_bytes`;
  // parameters with and without weight decay lie apart, in buckets of their own. Collective, as
  // CollectiveSession::plan(). The model must have its memory; model and session must outlive this.
  GradientBuckets(Rank& rank, CollectiveSession& session, Model& model,
                  const std::vector<ParameterRange>& ranges, std::uint64_t least_bytes,
                  const StreamOptions& options);

  // Enqueues a backward pass on `stream` and all sums beside it; later work of `stream` comes after
  // both. All ranks call it equally often. Can be captured if the session can.
  void backward(Stream& stream, Accumulate gradients);
  // The sums alone, of what the gradients hold.
  void enqueue_sums(Stream& stream);

  // The collective that sums gradients.
  static Collective sum(DType dtype, std::int64_t elements);

  double wire_bytes() const;      // that leave this rank in one step; 0: not known
  std::string algorithm() const;  // of the largest bucket
  std::size_t count() const { return buckets_.size(); }

 private:
  struct Bucket {
    std::size_t behind;  // the range with which it is complete
    std::uint64_t bytes;
    std::unique_ptr<CollectivePlan> plan;
  };

  Model& model_;
  ForkedStream sums_;
  std::vector<Bucket> buckets_;  // by `behind`
};

}  // namespace duet
