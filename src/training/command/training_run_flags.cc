#include "training/command/training_run_flags.h"

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

LearningRateSettings rate_of(const TrainingRunFlags& flags, const TokenModelDescription& model) {
  LearningRateSettings rate;
  rate.steps =
      flags.steps.empty() ? model.steps : parse_number(flags.steps, 1, "--steps", kMostSteps);
  if (rate.steps == 0) throw UsageError("--data: expected --steps COUNT with it");
  rate.peak = !flags.learning_rate.empty() ? parse_positive(flags.learning_rate, "--learning-rate")
              : model.learning_rate > 0    ? model.learning_rate
                                           : kLearningRate;
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

std::uint64_t seed_of(const TrainingRunFlags& flags) {
  if (flags.seed.empty()) return TrainingRunSettings().seed;
  return static_cast<std::uint64_t>(parse_number(flags.seed, 0, "--seed", kMostSteps));
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
  add("--steps", flags.steps, "COUNT", "Steps of the whole run; default of gpt tiny 600");
  add("--seed", flags.seed, "NUMBER",
      "Seed of the initial parameters and the order of the data; default 1");
  add("--learning-rate", flags.learning_rate, "RATE",
      "The maximum, after the warm-up; then half a cosine to a tenth of it; default 3e-4, "
      "of gpt tiny 3e-3");
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
      "qwen3, qwen3-moe: write the trained model to this folder as Hugging Face's transformers "
      "library does; "
      "with --lora its adapters, as the peft library does. A folder that has a model already is "
      "refused, unless --resume continues the run that saved it");
  add("--checkpoint-every", flags.checkpoint_every, "STEPS",
      "Steps between two checkpoints; default: only after the last step");
  add("--generate", flags.generate, "COUNT",
      "Bytes of text that the model makes: after the last step, or, without --data, by the "
      "parameters in --checkpoint");
  add("--prompt", flags.prompt, "TEXT", "--generate: what the text follows; default a newline");
  add("--temperature", flags.temperature, "NUMBER",
      "--generate: divides the logits before a byte is drawn; 0: always the most probable byte; "
      "default 0.8");
}

TrainingRunSettings training_run_settings(const TrainingRunFlags& flags,
                                          const TokenModelDescription& model, bool resume) {
  if (flags.checkpoint.empty() && !flags.checkpoint_every.empty()) {
    throw UsageError("--checkpoint-every: expected --checkpoint FILE with it");
  }
  for (const auto& [flag, path] :
       {NamedFile{"--checkpoint", flags.checkpoint}, NamedFile{"--save", flags.save}}) {
    if (!names_standard_output(path)) continue;
    throw UsageError(fmt::format("{} {}: expected a name, since it is read again", flag, path));
  }
  TrainingRunSettings settings;
  settings.model = model;
  settings.data = flags.data;
  settings.seed = seed_of(flags);
  settings.learning_rate = rate_of(flags, model);
  settings.keep_warm_up = flags.warm_up_steps.empty();
  settings.clip = clip_of(flags.clip);
  settings.evaluate_every = every(flags.evaluate_every, "--evaluate-every");
  settings.checkpoint = flags.checkpoint;
  settings.checkpoint_every = every(flags.checkpoint_every, "--checkpoint-every");
  settings.resume = resume;
  settings.save = flags.save;
  return settings;
}

Generation generation_of(const TrainingRunFlags& flags) {
  Generation asked;
  if (flags.generate.empty()) {
    refuse_given(
        {{"--prompt", !flags.prompt.empty()}, {"--temperature", !flags.temperature.empty()}},
        "expected --generate COUNT with it");
    return asked;
  }
  asked.tokens = parse_number(flags.generate, 1, "--generate");
  asked.prompt = flags.prompt;
  asked.seed = seed_of(flags);
  if (flags.temperature == "0") {
    asked.temperature = 0;
  } else if (!flags.temperature.empty()) {
    asked.temperature = parse_positive(flags.temperature, "--temperature");
  }
  return asked;
}

bool generates_only(const TrainingRunFlags& flags) {
  return flags.data.empty() && !flags.generate.empty() && !flags.checkpoint.empty();
}

void require_no_training_run(const TrainingRunFlags& flags) {
  const bool text_alone = generates_only(flags);
  refuse_given({{"--steps", !flags.steps.empty()},
                {"--seed", !flags.seed.empty() && !text_alone},
                {"--learning-rate", !flags.learning_rate.empty()},
                {"--warm-up-steps", !flags.warm_up_steps.empty()},
                {"--clip", !flags.clip.empty()},
                {"--evaluate-every", !flags.evaluate_every.empty()},
                {"--checkpoint", !flags.checkpoint.empty() && !text_alone},
                {"--checkpoint-every", !flags.checkpoint_every.empty()},
                {"--save", !flags.save.empty()}},
               "expected --data FILE with it");
  refuse_given({{"--generate", !flags.generate.empty() && !text_alone}},
               "expected --data FILE, to train before, or --checkpoint FILE, with it");
  generation_of(flags);
}

}  // namespace duet
