#include "cli/as_one.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/lists.h"
#include "cli/measure.h"
#include "core/error.h"
#include "gemm/tuning.h"
#include "training/cases.h"
#include "training/gpt.h"
#include "training/mlp.h"

namespace duet {
namespace {

constexpr int kMost = 1 << 20;  // of a batch, a sequence, layers

class TrainCommand : public Command {
 public:
  explicit TrainCommand(CLI::App& root)
      : app_(root.add_subcommand("train", "Measure training steps of a model")) {
    app_->add_option("kind", kind_,
                     "Kind of model: gpt, or mlp (the three linears of the training study)")
        ->required()
        ->type_name("");
    add_device_flags(*app_, devices_, "host");
    add("--model", models_, "LIST",
        "Models of the training study: small, medium, large, xl, 1.5b, 3b, 7b, 13b, or a file "
        "NAME.toml in the form of specs/training/gpt.toml; default small");
    add("--batch", batches_, "LIST", "Sequences per step; default: the model's in the study");
    add("--sequence", sequence_, "TOKENS", "Tokens per sequence; default: the model's");
    add("--layers", layers_, "COUNT", "Use the first COUNT layers only; default: all");
    add("--optimizer", optimizer_, "NAME", "adamw or sgd; default adamw for gpt, sgd for mlp");
    add("--recipe", recipes_, "LIST",
        "Element types: fp32; amp (bf16, with fp32 parameters and moments for AdamW); bf16 (all in "
        "bf16, stochastic rounding); default fp32 on host devices, otherwise amp");
    app_->add_flag("--breakdown", breakdown_,
                   "Also time the parts of a step (GEMMs, attention, norms, other elementwise "
                   "kernels, loss, optimizer), enqueued one by one");
    add("--tuning-cache", tuning_cache_, "FILE",
        "Keep the GEMM algorithms that were chosen in FILE, for later runs");
    add_mode_flags(*app_, mode_);
    add_output_flags(*app_, output_);
  }

  CLI::App& app() override { return *app_; }

  int run(const std::vector<std::string>& line) override {
    require_one_process("train");
    TrainingOptions options;
    options.models = models();
    options.optimizer.kind = parse_optimizer(!optimizer_.empty() ? optimizer_
                                             : kind_ == "mlp"    ? "sgd"
                                                                 : "adamw");
    set_tuning_cache(tuning_cache_);
    options.mode = mode_of(mode_);
    options.breakdown = breakdown_;
    RunPlan plan;
    const std::vector<std::string> names = device_names(devices_);
    plan.machines = open_machines(names.empty() ? std::vector<std::string>{"host"} : names);
    for (const auto& machine : plan.machines) {
      options.device_name = machine->name();
      const bool host = machine->device(0).info().kind == "host";
      options.recipes =
          parse_list(recipes_.empty() ? (host ? "fp32" : "amp") : recipes_, find_recipe);
      add_job(plan, *machine, training_benchmark(*machine, options, interrupted));
    }
    return measure(plan, output_, line);
  }

 private:
  std::vector<ModelDescription> models() const {
    if (kind_ == "mlp") return mlps();
    if (kind_ == "gpt") return gpts();
    throw UsageError("train: unknown kind '" + kind_ + "': expected gpt or mlp");
  }

  // Those of --batch; empty: the model's own.
  std::vector<int> batches() const {
    if (batches_.empty()) return {};
    return parse_list(
        batches_, [](const std::string& text) { return parse_number(text, 1, "--batch", kMost); });
  }

  std::vector<ModelDescription> mlps() const {
    for (const std::string* each : {&models_, &sequence_, &layers_}) {
      if (!each->empty()) throw UsageError("train mlp: --model, --sequence and --layers are gpt's");
    }
    MlpConfig config = study_mlp();
    std::vector<ModelDescription> all;
    if (batches_.empty()) all.push_back(describe(config));
    for (const int each : batches()) {
      config.batch = each;
      all.push_back(describe(config));
    }
    return all;
  }

  std::vector<ModelDescription> gpts() const {
    std::vector<ModelDescription> all;
    for (GptConfig config : parse_list(models_.empty() ? "small" : models_, find_gpt)) {
      if (!sequence_.empty()) config.sequence = parse_number(sequence_, 1, "--sequence", kMost);
      if (!layers_.empty()) {
        config.layers = parse_number(layers_, 1, "--layers", static_cast<int>(config.layers));
      }
      if (batches_.empty()) all.push_back(describe(config));
      for (const int each : batches()) {
        config.batch = each;
        all.push_back(describe(config));
      }
    }
    return all;
  }

  CLI::App* app_;
  DeviceFlags devices_;
  ModeFlags mode_;
  OutputFlags output_;
  bool breakdown_ = false;
  std::string kind_, optimizer_, models_, batches_, sequence_, layers_, recipes_, tuning_cache_;
};

}  // namespace

std::unique_ptr<Command> make_train_command(CLI::App& root) {
  return std::make_unique<TrainCommand>(root);
}

}  // namespace duet
