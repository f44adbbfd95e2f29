// A model trained on a file of text for a number of steps by one or several ranks, with checkpoints
// from which another run continues, to the bit if it has as many ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "training/files/checkpoint.h"
#include "training/files/token_file.h"
#include "training/generation.h"
#include "training/models/token_model.h"
#include "training/parallel/parallel.h"
#include "training/training_input.h"

namespace duet {

// Figures of the steps that ran, in their order, and of evaluations.
struct TrainingCurves {
  std::int64_t first_step = 1;
  double tokens = 0;  // of a step, on all ranks
  std::vector<double> seconds, loss, learning_rate, gradient_norm;
  std::vector<double> evaluation_step, evaluation_loss;
};

// One rank's part of a run. All ranks make the same calls, inside Team::each().
class TrainingRun {
 public:
  // Blocks. The rank's device and the input must outlive it. `parallel` must have a session
  // if there are several ranks. Throws OutOfMemory, and UsageError if the checkpoint's tensors are
  // not the model's.
  TrainingRun(Rank& rank, const TrainingInput& input, const ParallelSettings& parallel = {});

  // Runs all steps that are left, which may be none, and saves the model. Rank 0 calls `after_step`
  // after each, and writes checkpoints; of shards, every rank writes its part. Where `stop`
  // returns true on any rank before a step, a checkpoint is written, and all throw Interrupted. A
  // loss that is not finite is an Error with the step's number; the checkpoint stays as it was.
  TrainingCurves run(const std::function<bool()>& stop,
                     const std::function<void(const TrainingCurves&)>& after_step);

  // Text that the model makes, or as much of it as there is when `stop` returns true on any rank.
  std::string generate(const Generation& asked, const std::function<bool()>& stop);

  std::uint64_t memory_bytes() const;
  std::map<std::string, std::string> notes() const { return operations_->notes(); }

 private:
  void prepare(const ParallelSettings& parallel);
  void choose_algorithms();
  void make_parallel(const ParallelSettings& parallel);
  TokenBatch training_batch(std::int64_t place) const;
  // Where this rank's sequences begin in a batch of all ranks.
  std::int64_t first_sequence() const;
  double sum_over_ranks(double mine, const std::string& what);
  // The sum over the parts of a batch.
  double sum_of_losses(double mine, const std::string& what);
  void save(std::int64_t step);  // throws Error if the loss is not finite
  void load_weights();
  void save_model();
  // Of the parameters that `wanted` says: what this rank keeps, by their names.
  using Wanted = std::function<bool(const ModelParameter&)>;
  std::vector<CheckpointTensor> weights(const Wanted& wanted, bool with_masters) const;
  // Of one tensor of a parameter: all of it, or this rank's part.
  CheckpointTensor kept_tensor(const std::string& name, const ModelParameter& about,
                               const Tensor& type, const Tensor& here, std::int64_t first) const;
  std::vector<CheckpointTensor> checkpoint_tensors() const;
  void step(std::int64_t number, TrainingCurves& curves);
  void evaluate(std::int64_t step, TrainingCurves& curves);
  void write(const TokenBatch& batch);
  double read(const Tensor& figure) const;
  double loss_of(Graph& batch);
  void wait_for(Graph& graph);

  Rank rank_;
  Device& device_;
  const TrainingInput& input_;
  const TrainingRunSettings& settings_;
  std::unique_ptr<Operations> operations_;
  std::unique_ptr<TokenModel> model_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<ParallelStep> parallel_;
  // The batches of a step: of the last one, gradients are summed over ranks.
  std::unique_ptr<Graph> first_batch_, middle_batch_, last_batch_;
  std::unique_ptr<Graph> update_, evaluation_;
  std::int64_t done_;  // steps
};

}  // namespace duet
