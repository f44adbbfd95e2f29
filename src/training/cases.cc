#include "training/cases.h"

#include <array>
#include <string>

#include "timing/sampler.h"
#include "training/gpt_work.h"

namespace duet {
namespace {

Axes axes(const GptConfig& config, const Recipe& recipe) {
  return {{"model", config.name},    {"recipe", recipe.name},
          {"batch", config.batch},   {"sequence", config.sequence},
          {"layers", config.layers}, {"parameters", parameter_count(config)}};
}

// One model, as the options say.
struct TrainingCase {
  CaseId id;
  GptConfig config;
  Recipe recipe;
  Mode mode;
  bool breakdown;
};

void add_rates(Measurement& result, const GptConfig& config) {
  const TrainingFlop flop = flop_per_token(config);
  const double seconds = summarise(result.sampling->samples).median;
  const double rate = result.cost.tokens / seconds / 1e12;
  result.rates = {{"six_n_tflops", flop.six_n * rate},
                  {"six_n_attention_tflops", flop.six_n_attention * rate},
                  {"hardware_tflops", flop.hardware * rate}};
}

// A step on the machine's first device, and of a step whose parts are timed, their seconds.
Measurement measure_case(Machine& machine, const TrainingCase& one,
                         const std::function<bool()>& stop) {
  Measurement result;
  result.id = one.id;
  Team team(machine, {0});
  GptWork work(one.config, one.recipe);
  result.cost = work.cost();
  std::array<double, kStepParts> parts{};
  AfterSamples after;
  if (one.breakdown) {
    after = [&](const RunAgain&) { team.each([&](Rank& rank) { parts = work.time_parts(rank); }); };
  }
  result.sampling = Sampler(team, stop).measure(work, one.mode, {}, after);
  add_rates(result, one.config);
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
  for (const GptConfig& config : options.models) {
    for (const Recipe& recipe : options.recipes) {
      const TrainingCase one{{"train", options.device_name, "duet", axes(config, recipe)},
                             config,
                             recipe,
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
