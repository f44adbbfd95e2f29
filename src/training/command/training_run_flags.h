#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "training/training_run.h"

namespace duet {

// The flags of `duet train --data`.
struct TrainingRunFlags {
  std::string data, steps, seed;
  std::string learning_rate, warm_up_steps, clip;
  std::string evaluate_every, checkpoint, checkpoint_every, save;
  std::string generate, prompt, temperature;
};

void add_training_run_flags(CLI::App& app, TrainingRunFlags& flags);

// Throws UsageError for values that are no numbers, or that need --data, --steps or --checkpoint.
TrainingRunSettings training_run_settings(const TrainingRunFlags& flags,
                                          const TokenModelDescription& model, bool resume);
// What --generate asks for. Throws UsageError.
Generation generation_of(const TrainingRunFlags& flags);
// Whether text is asked for without training: by --generate and --checkpoint without --data.
bool generates_only(const TrainingRunFlags& flags);
// Throws UsageError if flags that need --data are given.
void require_no_training_run(const TrainingRunFlags& flags);

}  // namespace duet
