// A model trained on a file of text for a number of steps by one or several ranks, with checkpoints
// from which another run continues, to the bit if it has as many ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "training/files/checkpoint.h"
#include "training/files/token_file.h"
#include "training/models/token_model.h"
#include "training/parallel/parallel.h"
#include "training/schedule.h"

namespace duet {

struct TrainingRunSettings {
  TokenModelDescription model;  // with the batch of one rank
  std::int64_t ranks = 1;       // that train it together, each with its part of a batch
  Recipe recipe;
  Optimizer optimizer;
  std::string data;                    // see TokenFile
  std::int64_t accumulate = 1;         // batches whose gradients one step adds up
  std::uint64_t seed = 1;              // of the first parameters, the batches and the rounding
  LearningRateSettings learning_rate;  // with the number of steps
  double clip = 1;                     // the largest norm of the gradients; infinity: any
  double evaluation_share = 0.1;       // of the tokens, which are not trained on
  std::int64_t evaluate_every = 0;     // steps; 0: after the last one only
  std::string checkpoint;              // a file; "": none
  std::int64_t checkpoint_every = 0;   // steps; 0: after the last one only
  bool resume = false;                 // from the checkpoint, if there is one
  double tuning_seconds = OperationsOptions().tuning_seconds;
  std::string weights;  // a folder (ModelFolder) with which the model begins; "": random numbers
  std::string save;     // a folder for the trained model; "": none
};

// What a run reads: its data, and the checkpoint from which it resumes. Byte files are trained with
// a vocabulary of 256, unless the model begins with weights. With `accumulate` above 1, gradients
// are fp32.
class TrainingInput {
 public:
  // Throws UsageError for data that cannot be used, and for a checkpoint that another model, other
  // data or other settings have made.
  explicit TrainingInput(TrainingRunSettings settings);

  const TrainingRunSettings& settings() const { return settings_; }
  const TokenSplit& split() const { return split_; }
  // nullptr: the run begins with the first step.
  const Checkpoint* checkpoint() const { return checkpoint_.get(); }
  std::int64_t steps_done() const { return steps_done_; }
  // What a checkpoint and the run that continues it must have in common, as its metadata: the batch
  // of all ranks, not how many they are.
  std::map<std::string, std::string> common_settings() const;

 private:
  void open_checkpoint();

  TrainingRunSettings settings_;
  TokenFile file_;
  TokenSplit split_;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::int64_t steps_done_ = 0;
};

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

  std::uint64_t memory_bytes() const;
  std::map<std::string, std::string> notes() const { return operations_->notes(); }

 private:
  void prepare(const ParallelSettings& parallel);
  void make_parallel(const ParallelSettings& parallel);
  TokenBatch training_batch(std::int64_t place) const;
  double sum_over_ranks(double mine, const std::string& what);
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
