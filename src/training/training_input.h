// What a run on a text is told, and what it reads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "team/team.h"
#include "training/files/checkpoint.h"
#include "training/files/token_file.h"
#include "training/models/token_model.h"
#include "training/schedule.h"

namespace duet {

// What a checkpoint's metadata have besides TrainingInput::common_settings().
inline constexpr const char* kCheckpointStep = "step";  // the last one done
inline constexpr const char* kCheckpointTuning = "tuning";

struct TrainingRunSettings {
  TokenModelDescription model;  // with the batch of one rank
  std::int64_t ranks = 1;       // that train it together, each with its part of a batch; tp: 1
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
  bool keep_warm_up = false;           // of the checkpoint, instead of learning_rate's
  double tuning_seconds = OperationsOptions().tuning_seconds;
  std::string weights;  // a folder (ModelFolder) with which the model begins; "": random numbers
  std::string save;     // a folder for the trained model; "": none
};

// What a run reads: its data, and the checkpoint from which it resumes. Byte files are trained with
// a vocabulary of 256, unless the model begins with weights. With `accumulate` above 1, gradients
// are fp32.
class TrainingInput {
 public:
  // Throws UsageError for data that cannot be used, for a checkpoint that another model, other data
  // or other settings have made, for one that exists where none is resumed, and as
  // require_own_folder().
  explicit TrainingInput(TrainingRunSettings settings);

  const TrainingRunSettings& settings() const { return settings_; }
  const TokenSplit& split() const { return split_; }
  bool of_bytes() const { return file_.of_bytes(); }
  // nullptr: the run begins with the first step.
  const Checkpoint* checkpoint() const { return checkpoint_.get(); }
  std::int64_t steps_done() const { return steps_done_; }
  // What a checkpoint and the run that continues it must have in common, as its metadata: the batch
  // of all ranks, not how many they are.
  std::map<std::string, std::string> common_settings() const;
  // The same as one word, for the files that are saved.
  std::string run_name() const;
  // Throws UsageError if the folder for the trained model has a model, unless this is a run that
  // resumes and the run that it continues has saved it.
  void require_own_folder() const;
  // Throws UsageError if another process has other settings or data, or begins with another step.
  // Collective, inside each().
  void require_same_on_all(Rank& rank) const;

 private:
  void open_checkpoint();

  TrainingRunSettings settings_;
  TokenFile file_;
  std::uint64_t digest_;  // the data's
  TokenSplit split_;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::int64_t steps_done_ = 0;
};

}  // namespace duet
