// ZeRO stage 3: ranks divide parameters, gradients and optimizer states among themselves.
// Parameters of a block are gathered just before it is used, and its gradients reduced just after
// it.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "training/operations/forked_stream.h"
#include "training/parallel/parallel.h"

namespace duet {

// While a block computes, the next block's parameters are gathered and the previous block's
// gradients are reduced; blocks use two buffers alternately. A shard that keeps what it has
// gathered has a buffer for each block's parameters, and gathers them in the forward pass only.
// A shard that keeps parts exchanges gradients by all_to_all instead of reduce_scatter, which takes
// no compute units from the backward pass on engines that copy, and sums the parts behind it.
// Parameters before the blocks (tables) are gathered when a step begins, those after them (the last
// norm, a head) while blocks compute; both stay in memory until their gradients are complete.
class ShardedStep : public ParallelStep {
 public:
  // The model must be a shard of the rank's. Collective, as CollectiveSession::plan().
  ShardedStep(Rank& rank, CollectiveSession& session, Model& model, const StreamOptions& options);

  void forward(Stream& stream) override;
  void backward(Stream& stream, Accumulate gradients) override;  // must be Accumulate::no
  void sum_squares(Stream& stream) override { sum_squares_->enqueue(stream); }
  void communicate(Stream& stream) override;
  void set_timeline(StepTimeline* timeline) override;
  double wire_bytes() const override;
  std::map<std::string, std::string> notes() const override;

 private:
  using Unit = Parameters::Unit;
  struct UnitPlans {
    std::unique_ptr<CollectivePlan> gather, reduce;
  };
  // What a step has enqueued for a buffer of blocks' parameters.
  struct Buffer {
    std::optional<std::size_t> holds;  // a unit
    Event* gathered = nullptr;         // null: the main stream has waited
  };

  const std::vector<Unit>& units() const { return model_.parameters().units(); }
  std::size_t unit_of(const ParameterRange& block) const;
  Buffer& buffer_of(std::size_t unit) { return buffers_[*units()[unit].block % buffers_.size()]; }
  // Null: the main stream has waited, or nothing was reduced.
  Event*& reduced_before(std::size_t unit) { return reduced_[*units()[unit].block % 2]; }
  std::optional<std::size_t> next_block(std::size_t unit, int direction) const;
  void enqueue_gather(Stream& stream, std::size_t unit);
  void gather(Stream& stream, std::size_t unit);
  void begin_block(Stream& stream, const ParameterRange& block, int direction);
  void gather_behind_blocks(Stream& stream, std::size_t unit);
  void reduce(Stream& stream, const ParameterRange& complete);
  void sum_parts(Stream& stream);

  Model& model_;
  ForkedStream communication_;
  std::vector<UnitPlans> plans_;               // by unit
  std::unique_ptr<PreparedKernel> sum_parts_;  // null: gradients come as sums
  std::unique_ptr<CollectivePlan> sum_squares_;
  std::vector<Buffer> buffers_;
  std::array<Event*, 2> reduced_{};  // by buffer of blocks' gradients: its last reduction
  StepTimeline* timeline_ = nullptr;
  Event* behind_blocks_ = nullptr;  // of a forward pass: has gathered parameters after the blocks
};

}  // namespace duet
