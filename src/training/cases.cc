#include "training/cases.h"

#include <array>
#include <string>

#include "timing/sampler.h"
#include "training/training_work.h"

namespace duet {
namespace {

// The model's axes, and the optimizer where it is not AdamW.
Axes axes(const ModelDescription& model, const Recipe& recipe, const Optimizer& optimizer) {
  Axes all{{"model", model.name}, {"recipe", recipe.name}};
  for (const auto& [axis, value] : model.axes) all.set(axis, value);
  if (optimizer.kind != OptimizerKind::adamw) all.set("optimizer", name(optimizer.kind));
  return all;
}

// One model, as the options say.
struct TrainingCase {
  CaseId id;
  ModelDescription model;
  Recipe recipe;
  Optimizer optimizer;
  Mode mode;
  bool breakdown;
};

void add_rates(Measurement& result, const ModelDescription& model) {
  const double seconds = summarise(result.sampling->samples).median;
  const auto rate = [&](double flop) { return flop / seconds / 1e12; };
  result.rates.emplace_back("six_n_tflops", rate(model.six_n));
  if (model.six_n_attention > 0) {
    result.rates.emplace_back("six_n_attention_tflops", rate(model.six_n_attention));
  }
  result.rates.emplace_back("hardware_tflops", rate(model.hardware));
}

// A step on the machine's first device, and of a step whose parts are timed, their seconds.
Measurement measure_case(Machine& machine, const TrainingCase& one,
                         const std::function<bool()>& stop) {
  Measurement result;
  result.id = one.id;
  Team team(machine, {0});
  TrainingWork work(one.model, one.recipe, one.optimizer);
  result.cost = work.cost();
  std::array<double, kStepParts> parts{};
  AfterSamples after;
  if (one.breakdown) {
    after = [&](const RunAgain&) { team.each([&](Rank& rank) { parts = work.time_parts(rank); }); };
  }
  result.sampling = Sampler(team, stop).measure(work, one.mode, {}, after);
  add_rates(result, one.model);
  result.metrics.emplace_back("memory_bytes", static_cast<double>(work.memory_bytes()));
  if (!one.breakdown) return result;
  for (std::size_t part = 0; part < kStepParts; ++part) {
    const std::string part_name = name(static_cast<StepPart>(part));
    result.metrics.emplace_back(part_name + "_seconds", parts[part]);
  }
  return result;
}

}  // namespace

Benchmark training_benchmark(Machine& machine, const TrainingOptions& options,
                             std::function<bool()> stop) {
  Benchmark benchmark;
  for (const ModelDescription& model : options.models) {
    for (const Recipe& recipe : options.recipes) {
      const TrainingCase one{
          {"train", options.device_name, "duet", axes(model, recipe, options.optimizer)},
          model,
          recipe,
          options.optimizer,
          options.mode,
          options.breakdown};
      benchmark.cases.push_back(
          {one.id, [&machine, one, stop] { return measure_case(machine, one, stop); }, one.mode});
    }
  }
  benchmark.conclude = [](const std::vector<Finished>&) { return std::vector<Measurement>{}; };
  return benchmark;
}

}  // namespace duet
