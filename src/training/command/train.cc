#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "cli/as_one.h"
#include "cli/command.h"
#include "cli/flag_values.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/lists.h"
#include "cli/measure.h"
#include "cli/network_flags.h"
#include "cli/outputs.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/plain_text.h"
#include "core/units.h"
#include "gemm/tuning.h"
#include "training/cases.h"
#include "training/command/training_run_flags.h"
#include "training/models/gpt.h"
#include "training/models/mlp.h"
#include "training/models/qwen3.h"
#include "training/models/qwen3_folder.h"

namespace duet {
namespace {

constexpr int kMostOfModel = 1 << 20;  // of a batch, a sequence, layers
constexpr int kMostLoraRank = 1024;
constexpr int kMostTensorRanks = 1024;

// A line on standard error after each evaluation and, at most every two seconds, after a step.
class RunReport {
 public:
  explicit RunReport(std::int64_t steps) : steps_(steps) {}

  void operator()(const TrainingCurves& curves) {
    const std::int64_t step = curves.first_step + static_cast<std::int64_t>(curves.loss.size()) - 1;
    const bool evaluated = !curves.evaluation_step.empty() &&
                           curves.evaluation_step.back() == static_cast<double>(step);
    if (step < steps_ && !evaluated && steady_now() - last_ < kReportSeconds) return;
    last_ = steady_now();
    std::string losses = fmt::format("loss {:.4f}", curves.loss.back());
    if (evaluated) losses += fmt::format(", evaluation loss {:.4f}", curves.evaluation_loss.back());
    std::cerr << fmt::format("step {} of {}: {}, {:.0f} tokens/s\n", step, steps_, losses,
                             curves.tokens / curves.seconds.back());
  }

 private:
  static constexpr double kReportSeconds = 2;
  std::int64_t steps_;
  double last_ = 0;
};

class TrainCommand : public Command {
 public:
  explicit TrainCommand(CLI::App& root)
      : Command(root.add_subcommand("train", "Measure training steps of a model")) {
    app_->add_option(
            "kind", kind_,
            "Kind of model: gpt, qwen3, qwen3-moe (with a mixture of experts), or mlp (the "
            "three linears of the training study)")
        ->required()
        ->type_name("");
    add_device_flags(*app_, devices_, "host");
    add("--model", models_, "LIST",
        "Models of the training study: small, medium, large, xl, 1.5b, 3b, 7b, 13b; seed: all of "
        "them; tiny: for CPUs; of qwen3: 8b, tiny, or a folder as Hugging Face's transformers "
        "library saves it, with whose weights --data begins; or a file NAME.toml in the form of "
        "specs/training/gpt.toml or qwen3.toml; of qwen3-moe: 30b-a3b, tiny, such a folder, or a "
        "file in the form of qwen3_moe.toml; default small, of qwen3 8b, of qwen3-moe 30b-a3b, on "
        "CPUs tiny "
        "of all");
    add("--batch", batches_, "LIST", "Sequences per step; default: the model's in the study");
    add("--sequence", sequence_, "TOKENS", "Tokens per sequence; default: the model's");
    add("--layers", layers_, "COUNT", "Use the first COUNT layers only; default: all");
    add("--accumulate", accumulate_, "COUNT",
        "Batches whose gradients one step sums, in fp32; default 1");
    add("--recompute", recompute_, "PART",
        "Part of each block that the backward pass recomputes, to save memory: none, attention or "
        "block; default none");
    add("--optimizer", optimizer_, "NAME", "adamw or sgd; default adamw, for mlp sgd");
    add("--update", update_, "ORDER",
        "When parameters are updated: after the backward pass, or beside it (each layer's as soon "
        "as its gradients are complete); default after");
    add("--parallel", parallel_, "WAY",
        "Train on all devices, each with a batch of its own: ddp (each has the whole model, and "
        "gradients are summed beside the backward pass) or zero3 (parameters, gradients and "
        "optimizer states are divided among the devices; parameters are gathered and gradients "
        "reduced beside both passes) or ep (of qwen3-moe: as ddp, but devices divide the experts "
        "of each layer, and tokens go to them and back inside both passes); or with one batch: tp "
        "(of gpt and qwen3, devices divide the weights of linears, and exchange rows of "
        "activations inside both passes); default none: on the first device alone");
    app_->add_option("--tensor-ranks", tensor_ranks_,
                     "--parallel ddp and zero3: so many consecutive devices share a batch and "
                     "divide the weights of linears, as all do with tp; default 1")
        ->type_name("COUNT")
        ->check(CLI::Range(1, kMostTensorRanks));
    add("--engine", engines_, "LIST",
        "--parallel: the collective engines, each measured in turn; none: without communication, "
        "to see what it costs; default auto");
    add("--bucket", bucket_, "BYTES",
        "--parallel ddp and ep: bytes of gradients that one all_reduce sums; default 25M");
    app_->add_flag("--keep-gathered", keep_gathered_,
                   "--parallel zero3: parameters that were gathered for the forward pass stay for "
                   "the backward pass, which then gathers nothing: two thirds of the bytes, and "
                   "memory for all parameters");
    app_->add_flag("--late-sums", late_sums_,
                   "--parallel zero3: gradients are sent to their ranks by all_to_all beside the "
                   "backward pass, which no kernel that sums then delays, and summed behind it; "
                   "memory for the gradients of all parameters");
    add_network_flags(*app_, network_);
    add("--recipe", recipes_, "LIST",
        "Element types: fp32; amp (bf16, with fp32 parameters and moments for AdamW); bf16 (all in "
        "bf16, stochastic rounding); fp8 (of qwen3: as bf16, with the linears of blocks in fp8); "
        "default fp32 on host devices, otherwise amp");
    add("--fp8-gradients", fp8_gradients_, "FORMAT",
        "--recipe fp8: the format of gradients, e4m3 or e5m2; default e4m3");
    add("--lora", lora_rank_, "RANK",
        "qwen3: freeze the model, and train low-rank adapters of its linears");
    add("--lora-alpha", lora_alpha_, "NUMBER",
        "--lora: adapters are scaled by this over the rank; default twice the rank");
    add("--lora-targets", lora_targets_, "LIST",
        "--lora: linears that have adapters: q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, "
        "down_proj; default all");
    app_->add_flag("--breakdown", breakdown_,
                   "Also time the parts of a step (GEMMs, attention, norms, other elementwise "
                   "kernels, loss, optimizer), enqueued one by one");
    app_->add_flag(
        "--deterministic", deterministic_,
        "Use only kernels that give the same results to the bit at each call; without it "
        "the fastest ones. --data always does");
    add_energy_flags(*app_, energy_,
                     "Also measure the energy of a step, where the device reports it, with many "
                     "more steps");
    add("--tuning-cache", tuning_cache_, "FILE",
        "Store the chosen GEMM algorithms in FILE and use them in later runs");
    app_->add_option("--tuning-seconds", tuning_seconds_,
                     "Approximate time to choose the algorithm of a large GEMM; 6 finds the "
                     "fastest at a GPU's power cap more reliably")
        ->type_name("S")
        ->check(seconds_above_0("--tuning-seconds"))
        ->capture_default_str();
    add_training_run_flags(*app_, run_);
    add_mode_flags(*app_, mode_);
    add_output_flags(*app_, output_);
    offer_values();
  }

  int run(const std::vector<std::string>& line) override {
    if (parallel() == Parallel::none) require_one_process("train");
    const auto processes = Processes::find();
    return as_one(*processes, [&] { return run_in(*processes, line); });
  }

 private:
  void offer_values() {
    offer(*app_, "kind", {"gpt", "qwen3", "qwen3-moe", "mlp"});
    offer(*app_, "--model", [] { return and_also(gpt_names(), "seed"); });
    offer_files(*app_, "--model");
    offer(*app_, "--recipe", [] { return own_names(duet::recipes()); });
    offer(*app_, "--parallel", {"none", "ddp", "zero3", "tp", "ep"});
    offer(*app_, "--engine", {"none", "auto", "dma", "kernel", "nccl", "rccl", "vendor-model"});
    offer(*app_, "--optimizer", {"adamw", "sgd"});
    offer(*app_, "--update", {"after", "beside"});
    offer(*app_, "--recompute", {"none", "attention", "block"});
    offer(*app_, "--fp8-gradients", {"e4m3", "e5m2"});
    offer(*app_, "--lora-targets", [] { return names_of(all_lora_targets()); });
  }

  int run_in(Processes& processes, const std::vector<std::string>& line) {
    if (kind_ != "qwen3") {
      refuse_given({{"--lora", !lora_rank_.empty()},
                    {"--lora-alpha", !lora_alpha_.empty()},
                    {"--lora-targets", !lora_targets_.empty()}},
                   "expected qwen3");
    }
    set_tuning_cache(tuning_cache_);
    RunPlan plan;
    std::vector<std::string> names = device_names(devices_);
    if (names.empty()) names = {"host"};
    open_own_machines(plan, names, processes);
    if (generates_only(run_)) return generate(*plan.machines.front(), plan.machines.size());
    if (run_.data.empty()) {
      add_measurements(plan, processes);
      output_.other_files = {{"--tuning-cache", tuning_cache_}};
      return measure(plan, output_, line);
    }
    std::string text;
    add_run(plan, processes, text);
    output_.has_checkpoint = !run_.checkpoint.empty();
    output_.other_files = {{"--checkpoint", run_.checkpoint}, {"--tuning-cache", tuning_cache_}};
    const int code = measure(plan, output_, line);
    if (!text.empty()) print_text(text, text_stream(output_));
    return code;
  }

  void print_text(const std::string& text, std::ostream& out) const {
    out << '\n' << plain_text(run_.prompt + text) << std::endl;
  }

  // By the parameters of a checkpoint.
  int generate(Machine& machine, std::size_t machines) const {
    require_no_training_run(run_);
    refuse_given({{"--batch", !batches_.empty()},
                  {"--parallel", !parallel_.empty()},
                  {"--json", !output_.json.empty()},
                  {"--csv", !output_.csv.empty()},
                  {"--report", output_.report.has_value()},
                  {"--resume", output_.resume},
                  {"--list", output_.list}},
                 "expected without --generate, unless with --data");
    if (machine.is_virtual()) throw UsageError("--generate: simulated devices have no parameters");
    const std::vector<TokenModelDescription> models = models_of_tokens(machine);
    if (models.size() != 1 || machines != 1 || recipes(machine).size() != 1) {
      throw UsageError(
          "--generate: expected gpt, qwen3 or qwen3-moe, and one model, recipe and device");
    }
    print_text(generate_from(run_.checkpoint, models.front(), recipes(machine).front(), weights(),
                             machine.device(0), generation_of(run_)),
               std::cout);
    return 0;
  }

  Parallel parallel() const {
    return parallel_.empty() ? Parallel::none : parse_parallel(parallel_);
  }

  void add_measurements(RunPlan& plan, Processes& processes) const {
    require_no_training_run(run_);
    TrainingOptions options;
    options.optimizer = optimizer();
    options.accumulate = accumulate();
    if (!update_.empty()) options.order = parse_update_order(update_);
    options.mode = mode_of(mode_);
    options.breakdown = breakdown_;
    options.operations = {deterministic_, tuning_seconds_};
    options.energy_seconds = energy_seconds_of(energy_);
    set_parallel(options, [&](std::vector<std::string> asked) { options.engines = asked; });
    for (std::size_t i = 0; i < plan.machines.size(); ++i) {
      Machine& machine = *plan.machines[i];
      options.device_name = plan.names[i];
      options.models = models(machine);
      options.recipes = recipes(machine);
      add_job(plan, machine, training_benchmark(machine, options, interrupted, &processes),
              plan.names[i]);
    }
  }

  // --parallel and its own flags. `set_engines` takes the engines that the user asks for.
  template <typename Options, typename SetEngines>
  void set_parallel(Options& options, const SetEngines& set_engines) const {
    ParallelSettings& settings = options.parallel;
    settings.kind = parallel();
    if (settings.kind == Parallel::none) {
      refuse_network_flags(network_, "expected --parallel as well");
      return refuse_given({{"--engine", !engines_.empty()},
                           {"--bucket", !bucket_.empty()},
                           {"--tensor-ranks", tensor_ranks_.has_value()},
                           {"--keep-gathered", keep_gathered_},
                           {"--late-sums", late_sums_}},
                          "expected --parallel as well");
    }
    options.node_size = node_size_of(network_);
    options.network = network_of(network_);
    refuse_given({{"--update", !update_.empty()}}, "expected without --parallel");
    if (settings.kind != Parallel::ddp) {
      refuse_given({{"--lora", !lora_rank_.empty()}}, "expected --parallel ddp or none");
    }
    if (settings.kind == Parallel::tp || settings.kind == Parallel::ep) {
      refuse_given({{"--tensor-ranks", tensor_ranks_.has_value()}},
                   "expected --parallel ddp or zero3: with tp and ep all devices divide the model");
    }
    settings.tensor_ranks = tensor_ranks_.value_or(1);
    if (settings.kind != Parallel::zero3) {
      refuse_given({{"--keep-gathered", keep_gathered_}, {"--late-sums", late_sums_}},
                   "expected --parallel zero3");
    }
    settings.keep_gathered = keep_gathered_;
    settings.late_sums = late_sums_;
    if (settings.kind != Parallel::ddp && settings.kind != Parallel::ep) {
      refuse_given({{"--bucket", !bucket_.empty()}}, "expected --parallel ddp or ep");
    }
    if (!bucket_.empty()) settings.bucket_bytes = parse_bytes(bucket_);
    if (!engines_.empty()) set_engines(split(engines_, ','));
  }

  // The text that the model makes at the end goes to `text`.
  void add_run(RunPlan& plan, Processes& processes, std::string& text) const {
    refuse_given({{"--breakdown", breakdown_},
                  {"--update", !update_.empty()},
                  {"--energy", energy_.energy},
                  {"--mode", !mode_.mode.empty()},
                  {"--warm-up", mode_.warm_up_seconds.has_value()},
                  {"--seconds", mode_.seconds.has_value()},
                  {"--iterations", mode_.iterations.has_value()},
                  {"--flush", mode_.flush.has_value()}},
                 "expected without --data");
    const std::vector<TokenModelDescription> models = models_of_tokens(*plan.machines.front());
    if (models.size() != 1 || plan.machines.size() != 1 ||
        recipes(*plan.machines.front()).size() != 1) {
      throw UsageError(
          "--data: expected gpt, qwen3 or qwen3-moe, and one model, batch, recipe and device");
    }
    Machine& machine = *plan.machines.front();
    if (machine.is_virtual()) throw UsageError("--data: simulated devices do not train");
    TrainingRunOptions options;
    options.settings = training_run_settings(run_, models.front(), output_.resume);
    options.settings.weights = weights();
    if (!options.settings.save.empty() && !models.front().folder.save) {
      throw UsageError("--save: expected qwen3 or qwen3-moe");
    }
    if (options.settings.weights.empty()) {
      refuse_given({{"--save", !options.settings.save.empty() && !lora_rank_.empty()}},
                   "expected a folder as --model with --lora");
    } else {
      refuse_given({{"--layers", !layers_.empty()}}, "expected all layers of a folder");
    }
    options.settings.recipe = recipes(machine).front();
    options.settings.optimizer = optimizer();
    options.settings.tuning_seconds = tuning_seconds_;
    options.settings.accumulate = accumulate();
    options.device_name = plan.names.front();
    set_parallel(options, [&](const std::vector<std::string>& asked) {
      if (asked.size() > 1 || asked.front() == kNoEngine) {
        throw UsageError("--engine: expected one engine, not none, with --data");
      }
      options.engine = asked.front();
    });
    options.generation = generation_of(run_);
    options.after_generation = [&text](const std::string& made) { text = made; };
    if (!output_.quiet) options.after_step = RunReport(options.settings.learning_rate.steps);
    add_job(plan, machine, training_run_benchmark(machine, options, interrupted, &processes),
            options.device_name);
  }

  Optimizer optimizer() const {
    Optimizer optimizer;
    if (!optimizer_.empty()) {
      optimizer.kind = parse_optimizer(optimizer_);
    } else if (kind_ == "mlp") {
      optimizer.kind = OptimizerKind::sgd;
    }
    return optimizer;
  }

  std::int64_t accumulate() const {
    return accumulate_.empty() ? 1 : parse_number(accumulate_, 1, "--accumulate");
  }

  static bool in_e5m2(const std::string& format) {
    if (format == "e5m2" || format == "e4m3") return format == "e5m2";
    throw UsageError("--fp8-gradients " + format + ": expected e4m3 or e5m2");
  }

  std::vector<Recipe> recipes(Machine& machine) const {
    const bool with_e5m2 = !fp8_gradients_.empty() && in_e5m2(fp8_gradients_);
    std::vector<Recipe> asked;
    if (!recipes_.empty()) asked = parse_list(recipes_, find_recipe);
    bool any_fp8 = false;
    for (Recipe& each : asked) {
      if (!each.fp8) continue;
      if (kind_ != "qwen3") throw UsageError("--recipe fp8: expected qwen3");
      if (with_e5m2) each.fp8_gradients = DType::fp8_e5m2;
      any_fp8 = true;
    }
    refuse_given({{"--fp8-gradients", !any_fp8 && !fp8_gradients_.empty()}},
                 "expected --recipe fp8");
    if (!asked.empty()) return asked;
    return {find_recipe(machine.device(0).info().is_cpu ? "fp32" : "amp")};
  }

  std::vector<ModelDescription> models(Machine& machine) const {
    if (kind_ == "mlp") return mlps();
    std::vector<ModelDescription> all;
    for (const TokenModelDescription& each : models_of_tokens(machine)) all.push_back(each.model);
    if (!all.empty()) return all;
    throw UsageError("train: unknown kind '" + kind_ + "': expected gpt, qwen3, qwen3-moe or mlp");
  }

  // None where the kind has none.
  std::vector<TokenModelDescription> models_of_tokens(Machine& machine) const {
    const bool cpu = machine.device(0).info().is_cpu;
    if (kind_ == "gpt") {
      return sized(models_ == "seed" ? gpt_configs()
                                     : parse_list(models_or(cpu ? "tiny" : "small"), find_gpt));
    }
    if (kind_ == "qwen3") {
      return sized(with_lora(parse_list(models_or(cpu ? "tiny" : "8b"), qwen3_of)));
    }
    if (kind_ == "qwen3-moe") {
      return sized(parse_list(models_or(cpu ? "tiny" : "30b-a3b"), qwen3_moe_of));
    }
    return {};
  }

  // Of the transformers library. A folder with a known model's name is told by "./".
  static bool is_model_folder(const std::string& name, const std::vector<Qwen3Config>& known) {
    for (const Qwen3Config& each : known) {
      if (each.name == name) return false;
    }
    return std::filesystem::is_directory(name);
  }

  static Qwen3Config qwen3_of(const std::string& name) {
    return is_model_folder(name, qwen3_configs()) ? read_qwen3_folder(name) : find_qwen3(name);
  }
  static Qwen3Config qwen3_moe_of(const std::string& name) {
    return is_model_folder(name, qwen3_moe_configs()) ? read_qwen3_folder(name, true)
                                                      : find_qwen3_moe(name);
  }

  // The folder with which a run begins; "": none.
  std::string weights() const {
    const bool of_experts = kind_ == "qwen3-moe";
    if (kind_ != "qwen3" && !of_experts) return "";
    if (!is_model_folder(models_, of_experts ? qwen3_moe_configs() : qwen3_configs())) return "";
    return std::filesystem::canonical(models_).string();
  }

  std::vector<Qwen3Config> with_lora(std::vector<Qwen3Config> configs) const {
    if (lora_rank_.empty()) {
      refuse_given(
          {{"--lora-alpha", !lora_alpha_.empty()}, {"--lora-targets", !lora_targets_.empty()}},
          "expected --lora as well");
      return configs;
    }
    LoraConfig lora;
    lora.rank = parse_number(lora_rank_, 1, "--lora", kMostLoraRank);
    lora.alpha = lora_alpha_.empty() ? 2 * static_cast<double>(lora.rank)
                                     : parse_positive(lora_alpha_, "--lora-alpha");
    lora.targets = all_lora_targets();
    if (!lora_targets_.empty()) {
      const auto targets = parse_list(lora_targets_, parse_lora_target);
      lora.targets = {targets.begin(), targets.end()};
    }
    for (Qwen3Config& each : configs) each.lora = lora;
    return configs;
  }

  // Those of --batch; empty: the model's own.
  std::vector<int> batches() const {
    if (batches_.empty()) return {};
    return parse_list(batches_, [](const std::string& text) {
      return parse_number(text, 1, "--batch", kMostOfModel);
    });
  }

  std::vector<ModelDescription> mlps() const {
    for (const std::string* each : {&models_, &sequence_, &layers_, &recompute_}) {
      if (!each->empty())
        throw UsageError(
            "train mlp: --model, --sequence, --layers and --recompute are gpt's and qwen3's");
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

  std::string models_or(const char* usual) const { return models_.empty() ? usual : models_; }

  // Each with the sequence, the layers and the batches that are asked for.
  template <typename Config>
  std::vector<TokenModelDescription> sized(const std::vector<Config>& configs) const {
    std::vector<TokenModelDescription> all;
    for (Config config : configs) {
      if (!sequence_.empty())
        config.sequence = parse_number(sequence_, 1, "--sequence", kMostOfModel);
      if (!layers_.empty()) {
        config.layers = parse_number(layers_, 1, "--layers", static_cast<int>(config.layers));
      }
      if (!recompute_.empty()) config.recompute = parse_recompute(recompute_);
      if (batches_.empty()) all.push_back(describe_for_text(config));
      for (const int each : batches()) {
        config.batch = each;
        all.push_back(describe_for_text(config));
      }
    }
    return all;
  }

  DeviceFlags devices_;
  ModeFlags mode_;
  NetworkFlags network_;
  TrainingRunFlags run_;
  OutputFlags output_;
  bool breakdown_ = false;
  bool deterministic_ = false;
  bool keep_gathered_ = false, late_sums_ = false;
  std::optional<int> tensor_ranks_;
  double tuning_seconds_ = OperationsOptions{}.tuning_seconds;
  EnergyFlags energy_;
  std::string parallel_, engines_, bucket_, kind_, optimizer_, update_, accumulate_, recompute_,
      models_, batches_, sequence_, layers_, recipes_, fp8_gradients_, lora_rank_, lora_alpha_,
      lora_targets_, tuning_cache_;
};

}  // namespace

DUET_DEFINE_COMMAND(train, TrainCommand)

}  // namespace duet
