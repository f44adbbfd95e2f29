#include "training/cases.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

#include "timing/energy_source.h"
#include "timing/power_draw.h"
#include "timing/sampler.h"
#include "training/training_work.h"

namespace duet {
namespace {

// The model's axes, and what is not as usual.
Axes axes(const ModelDescription& model, const Recipe& recipe, const Optimizer& optimizer,
          std::int64_t accumulate, UpdateOrder order = UpdateOrder::after) {
  Axes all{{"model", model.name}, {"recipe", recipe.name}};
  for (const auto& [axis, value] : model.axes) all.set(axis, value);
  if (optimizer.kind != OptimizerKind::adamw) all.set("optimizer", name(optimizer.kind));
  if (accumulate > 1) all.set("accumulate", accumulate);
  if (order != UpdateOrder::after) all.set("update", name(order));
  return all;
}

// One model, as the options say.
struct TrainingCase {
  CaseId id;
  ModelDescription model;
  Recipe recipe;
  Optimizer optimizer;
  std::int64_t accumulate;
  UpdateOrder order;
  Mode mode;
  bool breakdown;
  double energy_seconds;
};

void add_rates(Measurement& result, const ModelDescription& model, std::int64_t batches) {
  const double seconds = summarise(result.sampling->samples).median / static_cast<double>(batches);
  const auto rate = [&](double flop) { return flop / seconds / 1e12; };
  result.rates.emplace_back("six_n_tflops", rate(model.six_n));
  if (model.six_n_attention > 0) {
    result.rates.emplace_back("six_n_attention_tflops", rate(model.six_n_attention));
  }
  result.rates.emplace_back("hardware_tflops", rate(model.hardware));
}

void add_memory(Measurement& result, const TrainingWork& work) {
  result.metrics.emplace_back("memory_bytes", static_cast<double>(work.memory_bytes()));
  for (const auto& [kind, bytes] : work.memory()) {
    std::string metric = kind + "_bytes";
    std::replace(metric.begin(), metric.end(), ' ', '_');
    result.metrics.emplace_back(metric, static_cast<double>(bytes));
  }
}

void add_parts(Measurement& result, const std::array<double, kStepParts>& seconds) {
  for (std::size_t part = 0; part < kStepParts; ++part) {
    result.metrics.emplace_back(std::string(name(static_cast<StepPart>(part))) + "_seconds",
                                seconds[part]);
  }
}

void add_energy(Measurement& result, const PowerDraw& draw) {
  const double joules = draw.joules(0);  // steps follow each other without a gap
  const double items = result.cost.tokens > 0 ? result.cost.tokens : result.cost.samples;
  result.metrics.emplace_back("joules", joules);
  result.metrics.emplace_back("watts", draw.watts);
  result.metrics.emplace_back(result.cost.tokens > 0 ? "joules_per_token" : "joules_per_sample",
                              joules / items);
  result.metrics.emplace_back("energy_resolution", draw.resolution);
}

// A step on the machine's first device, and what the options ask for besides.
Measurement measure_case(Machine& machine, const TrainingCase& one,
                         const std::function<bool()>& stop) {
  Measurement result;
  result.id = one.id;
  Team team(machine, {0});
  TrainingWork work(one.model, one.recipe, one.optimizer, one.accumulate, one.order);
  result.cost = work.cost();
  const EnergySource energy = one.energy_seconds > 0 ? energy_source(team) : EnergySource();
  const auto after = [&](const RunAgain& again) {
    if (!energy.counters.empty()) {
      add_energy(result,
                 power_draw(energy.counters, one.energy_seconds, one.mode.deadline_seconds, again));
    }
    if (!one.breakdown) return;
    team.each([&](Rank& rank) { add_parts(result, work.time_parts(rank)); });
  };
  result.sampling = Sampler(team, stop).measure(work, one.mode, {}, after);
  if (!energy.unavailable.empty()) {
    result.sampling->warnings.push_back("no energy: " + energy.unavailable);
  }
  add_rates(result, one.model, one.accumulate);
  add_memory(result, work);
  result.notes.assign(work.notes().begin(), work.notes().end());
  return result;
}

Measurement run_case(Machine& machine, const CaseId& id, const TrainingInput& input,
                     const std::function<void(const TrainingCurves&)>& after_step,
                     const std::function<bool()>& stop) {
  TrainingRun run(machine.device(0), input);
  const TrainingCurves curves = run.run(stop, after_step);
  Measurement result;
  result.id = id;
  const ModelDescription model = describe(input.settings().model);
  const auto batches = static_cast<double>(input.settings().accumulate);
  result.cost.tokens = model.cost.tokens * batches;
  result.cost.flop = model.cost.flop * batches;
  result.sampling.emplace();
  result.sampling->samples = curves.seconds;
  result.sampling->stopped_by = result.sampling->mode = "steps";
  result.sampling->verified = true;  // each step's loss was finite
  result.metrics = {{"first_step", static_cast<double>(curves.first_step)},
                    {"final_loss", curves.loss.back()},
                    {"memory_bytes", static_cast<double>(run.memory_bytes())}};
  if (!curves.evaluation_loss.empty()) {
    result.metrics.emplace_back("evaluation_loss", curves.evaluation_loss.back());
  }
  const auto notes = run.notes();
  result.notes.assign(notes.begin(), notes.end());
  result.curves = {{"loss", curves.loss},
                   {"learning_rate", curves.learning_rate},
                   {"gradient_norm", curves.gradient_norm},
                   {"evaluation_step", curves.evaluation_step},
                   {"evaluation_loss", curves.evaluation_loss}};
  return result;
}

}  // namespace

Benchmark training_benchmark(Machine& machine, const TrainingOptions& options,
                             std::function<bool()> stop) {
  Benchmark benchmark;
  for (const ModelDescription& model : options.models) {
    for (const Recipe& recipe : options.recipes) {
      const TrainingCase one{
          {"train", options.device_name, "duet",
           axes(model, recipe, options.optimizer, options.accumulate, options.order)},
          model,
          recipe,
          options.optimizer,
          options.accumulate,
          options.order,
          options.mode,
          options.breakdown,
          options.energy_seconds};
      benchmark.cases.push_back(
          {one.id, [&machine, one, stop] { return measure_case(machine, one, stop); }, one.mode});
    }
  }
  benchmark.conclude = [](const std::vector<Finished>&) { return std::vector<Measurement>{}; };
  return benchmark;
}

Benchmark training_run_benchmark(Machine& machine, const TrainingRunOptions& options,
                                 std::function<bool()> stop) {
  const auto input = std::make_shared<TrainingInput>(options.settings);
  const TrainingRunSettings& settings = input->settings();
  Axes all =
      axes(describe(settings.model), settings.recipe, settings.optimizer, settings.accumulate);
  all.set("data", std::filesystem::path(settings.data).filename().string());
  all.set("steps", settings.learning_rate.steps);
  all.set("seed", static_cast<std::int64_t>(settings.seed));
  const CaseId id{"train_run", options.device_name, "duet", all};
  Benchmark benchmark;
  benchmark.cases.push_back({id,
                             [&machine, id, input, after_step = options.after_step, stop] {
                               return run_case(machine, id, *input, after_step, stop);
                             },
                             {}});
  benchmark.conclude = [](const std::vector<Finished>&) { return std::vector<Measurement>{}; };
  return benchmark;
}

}  // namespace duet
