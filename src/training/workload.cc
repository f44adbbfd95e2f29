#include "training/workload.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "training/cases.h"
#include "training/models/gpt.h"
#include "training/models/mlp.h"
#include "training/tables.h"

namespace duet {
namespace {

// RecordKind::rates of `train` and `train_run`: "tokens_per_s", or "samples_per_s" of models
// without tokens, and "tflops".
Rates training_rates(const Cost& cost, double seconds) {
  const double tflops = cost.flop / seconds / 1e12;
  if (const double tokens = cost.more.value(kTokens); tokens > 0) {
    return {{"tokens_per_s", tokens / seconds}, {"tflops", tflops}};
  }
  const double samples = cost.more.value(kSamples);
  if (samples <= 0) return usual_rates(cost, seconds);
  return {{"samples_per_s", samples / seconds}, {"tflops", tflops}};
}

double cpu_flop(const CaseId& id) {
  return 6 * axis_number(id, "parameters") * axis_number(id, "batch") * axis_number(id, "sequence");
}

double steps(const CaseId& id) { return axis_number(id, "steps"); }

// Of --breakdown: the parts of a step on rank 0.
Trace trace_of_step(const Record& record) {
  constexpr std::string_view kPrefix = "timeline_";
  Trace trace;
  for (const auto& [name, ends] : record.curves) {
    if (name.rfind(kPrefix, 0) != 0) continue;
    const std::string what = name.substr(kPrefix.size());
    trace.lanes.push_back({"rank 0: " + what, spans_of(what, ends)});
  }
  return trace;
}

// The steps, one behind the other, and what the run tells of each.
Trace trace_of_run(const Record& record) {
  Trace trace;
  TraceLane steps{"steps", {}};
  const auto first = static_cast<std::int64_t>(record.metrics.value("first_step"));
  double now = 0;
  for (const double seconds : record.samples) {
    const auto step = first + static_cast<std::int64_t>(steps.spans.size());
    steps.spans.push_back({fmt::format("step {}", step), now, now + seconds});
    now += seconds;
  }
  for (const auto& [name, values] : record.curves) {
    if (values.size() != steps.spans.size()) continue;  // of evaluations
    trace.counters.push_back({name, {}});
    for (std::size_t i = 0; i < values.size(); ++i)
      trace.counters.back().values.push_back({steps.spans[i].end, values[i]});
  }
  trace.lanes.push_back(std::move(steps));
  return trace;
}

std::vector<RecordKind> training_records() {
  RecordKind step{"train"}, run{"train_run"};
  for (RecordKind* kind : {&step, &run}) {
    kind->quantities = {kTokens, kSamples};
    kind->rates = training_rates;
    kind->tables = training_tables;
    kind->cpu_flop = cpu_flop;
  }
  step.figures = {"tokens_per_s",          "samples_per_s",          "tflops",
                  "six_n_tflops",          "six_n_attention_tflops", "hardware_tflops",
                  "communication_seconds", "exposed_seconds",        "hidden_percent",
                  "memory_bytes"};
  step.expect = expect_training;
  step.trace = trace_of_step;
  run.figures = {"tokens_per_s", "samples_per_s",   "tflops",      "first_step",
                 "final_loss",   "evaluation_loss", "memory_bytes"};
  run.calls = steps;
  run.trace = trace_of_run;
  return {step, run};
}

// The smallest model of the study.
TrainingOptions short_steps(const char* recipe) {
  TrainingOptions options;
  options.models = {describe(gpt_configs().front())};
  options.recipes = {find_recipe(recipe)};
  options.mode.seconds = 0.5;
  return options;
}

TrainingOptions on_cpu() {
  TrainingOptions options = short_steps("fp32");
  options.models = {options.models.front().with_batch(1)};
  options.mode.fair_iterations = options.mode.min_iterations;
  return options;
}

// The rows of the MI350X study.
TrainingOptions study_gpts() {
  TrainingOptions options;
  for (const GptConfig& each : gpt_configs()) options.models.push_back(describe(each));
  options.recipes = {find_recipe("amp"), find_recipe("bf16")};
  options.breakdown = true;
  return options;
}

TrainingOptions study_mlps() {
  TrainingOptions options;
  options.models = {describe(study_mlp())};
  options.recipes = {find_recipe("fp32"), find_recipe("bf16")};
  options.optimizer.kind = OptimizerKind::sgd;
  return options;
}

Benchmark steps_of(Machine& machine, const TrainingOptions& options,
                   const std::function<bool()>& stop) {
  return training_benchmark(machine, options, stop);
}

std::vector<SuiteEntry> training_suites() {
  const auto entry = [](const char* suite, const char* device, bool if_there,
                        const TrainingOptions& options) {
    return suite_entry(suite, device, if_there, steps_of, options);
  };
  return {entry("quick", "host", false, on_cpu()),
          entry("quick", "sim:mi300x-8", false, short_steps("amp")),
          entry("quick", "cuda", true, short_steps("amp")),
          entry("seed", "sim:mi350x-8", false, study_mlps()),
          entry("seed", "sim:mi350x-8", false, study_gpts()),
          entry("seed", "cuda", true, study_mlps()),
          entry("seed", "cuda", true, study_gpts())};
}

}  // namespace

const Workload& train_workload() {
  static const Workload train{training_records(), training_suites()};
  return train;
}

}  // namespace duet
