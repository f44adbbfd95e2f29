#include "cli/training_run_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/flags.h"
#include "cli/lists.h"
#include "core/error.h"
#include "core/output_file.h"

namespace duet {
namespace {

constexpr int kMostSteps = 1 << 30;
constexpr double kLearningRate = 3e-4;
constexpr double kFinalShare = 0.1;
constexpr std::int64_t kWarmUpSteps = 100;

LearningRateSettings rate_of(const TrainingRunFlags& flags) {
  LearningRateSettings rate;
  rate.steps = parse_number(flags.steps, 1, "--steps", kMostSteps);
  rate.peak = flags.learning_rate.empty() ? kLearningRate
                                          : parse_positive(flags.learning_rate, "--learning-rate");
  rate.warm_up_steps = flags.warm_up_steps.empty()
                           ? std::min(kWarmUpSteps, rate.steps / 10)
                           : parse_number(flags.warm_up_steps, 0, "--warm-up-steps", kMostSteps);
  rate.final_share = kFinalShare;
  return rate;
}

double clip_of(const std::string& text) {
  if (text.empty()) return 1;
  if (text == "off") return std::numeric_limits<double>::infinity();
  return parse_positive(text, "--clip");
}

std::int64_t every(const std::string& text, const char* flag) {
  return text.empty() ? 0 : parse_number(text, 1, flag, kMostSteps);
}

}  // namespace

void add_training_run_flags(CLI::App& app, TrainingRunFlags& flags) {
  const auto add = [&app](const char* name, std::string& value, const char* type,
                          const std::string& text) {
    app.add_option(name, value, text)->type_name(type)->group("Training on data");
  };
  add("--data", flags.data, "FILE",
      "Train on this file instead of measuring steps with random tokens: each byte is a token, "
      "unless llm.c's tools wrote it with 16- or 32-bit tokens. The last tenth is for evaluation");
  add("--steps", flags.steps, "COUNT", "Steps of the whole run");
  add("--seed", flags.seed, "NUMBER",
      "Seed of the initial parameters and the order of the data; default 1");
  add("--learning-rate", flags.learning_rate, "RATE",
      "The maximum, after the warm-up; then half a cosine to a tenth of it; default 3e-4");
  add("--warm-up-steps", flags.warm_up_steps, "COUNT",
      "Steps in which the learning rate rises; default a tenth of --steps, at most 100, or what "
      "the checkpoint has that --resume continues");
  add("--clip", flags.clip, "NORM|off",
      "Maximum norm of the gradients, to which larger ones are scaled down; default 1");
  add("--evaluate-every", flags.evaluate_every, "STEPS",
      "Steps between two evaluations; default: only after the last step");
  add("--checkpoint", flags.checkpoint, "FILE",
      "Write parameters and the optimizer's state to this safetensors file, after the last step "
      "and on Ctrl-C; --resume continues from it to the bit, and is needed if the file exists");
  add("--save", flags.save, "FOLDER",
      "qwen3: write the trained model to this folder as Hugging Face's transformers library does; "
      "with --lora its adapters, as the peft library does. A folder that has a model already is "
      "refused, unless --resume continues the run that saved it");
  add("--checkpoint-every", flags.checkpoint_every, "STEPS",
      "Steps between two checkpoints; default: only after the last step");
}

TrainingRunSettings training_run_settings(const TrainingRunFlags& flags, bool resume) {
  if (flags.steps.empty()) throw UsageError("--data: expected --steps COUNT with it");
  if (flags.checkpoint.empty() && !flags.checkpoint_every.empty()) {
    throw UsageError("--checkpoint-every: expected --checkpoint FILE with it");
  }
  for (const auto& [flag, path] :
       {NamedFile{"--checkpoint", flags.checkpoint}, NamedFile{"--save", flags.save}}) {
    if (!names_standard_output(path)) continue;
    throw UsageError(fmt::format("{} {}: expected a name, since it is read again", flag, path));
  }
  TrainingRunSettings settings;
  settings.data = flags.data;
  if (!flags.seed.empty()) {
    settings.seed = static_cast<std::uint64_t>(parse_number(flags.seed, 0, "--seed", kMostSteps));
  }
  settings.learning_rate = rate_of(flags);
  settings.keep_warm_up = flags.warm_up_steps.empty();
  settings.clip = clip_of(flags.clip);
  settings.evaluate_every = every(flags.evaluate_every, "--evaluate-every");
  settings.checkpoint = flags.checkpoint;
  settings.checkpoint_every = every(flags.checkpoint_every, "--checkpoint-every");
  settings.resume = resume;
  settings.save = flags.save;
  return settings;
}

void require_no_training_run(const TrainingRunFlags& flags) {
  const std::pair<const char*, const std::string&> all[] = {
      {"--steps", flags.steps},
      {"--seed", flags.seed},
      {"--learning-rate", flags.learning_rate},
      {"--warm-up-steps", flags.warm_up_steps},
      {"--clip", flags.clip},
      {"--evaluate-every", flags.evaluate_every},
      {"--checkpoint", flags.checkpoint},
      {"--checkpoint-every", flags.checkpoint_every},
      {"--save", flags.save}};
  for (const auto& [name, value] : all) {
    if (!value.empty()) throw UsageError(fmt::format("{}: expected --data FILE with it", name));
  }
}

}  // namespace duet
