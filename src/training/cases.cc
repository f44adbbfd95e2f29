#include "training/cases.h"

#include <utility>

#include "timing/sampler.h"
#include "training/gpt_work.h"

namespace duet {
namespace {

Axes axes(const GptConfig& config, const Recipe& recipe) {
  return {{"model", config.name},    {"recipe", recipe.name},
          {"batch", config.batch},   {"sequence", config.sequence},
          {"layers", config.layers}, {"parameters", parameter_count(config)}};
}

Measurement measure_case(Machine& machine, const CaseId& id, const GptConfig& config,
                         const Recipe& recipe, const Mode& mode,
                         const std::function<bool()>& stop) {
  Measurement result;
  result.id = id;
  Team team(machine, {0});
  GptWork work(config, recipe);
  result.cost = work.cost();
  result.sampling = Sampler(team, stop).measure(work, mode);
  const double seconds = summarise(result.sampling->samples).median;
  const TrainingFlop flop = flop_per_token(config);
  const double rate = result.cost.tokens / seconds / 1e12;
  result.rates = {{"six_n_tflops", flop.six_n * rate},
                  {"six_n_attention_tflops", flop.six_n_attention * rate},
                  {"hardware_tflops", flop.hardware * rate},
                  {"memory_bytes", static_cast<double>(work.memory_bytes())}};
  return result;
}

}  // namespace

Benchmark training_benchmark(Machine& machine, const TrainingOptions& options,
                             std::function<bool()> stop) {
  Benchmark benchmark;
  for (const GptConfig& config : options.models) {
    for (const Recipe& recipe : options.recipes) {
      const CaseId id{"train", options.device_name, "duet", axes(config, recipe)};
      benchmark.cases.push_back({id,
                                 [&machine, id, config, recipe, mode = options.mode, stop] {
                                   return measure_case(machine, id, config, recipe, mode, stop);
                                 },
                                 options.mode});
    }
  }
  benchmark.conclude = [](const std::vector<Finished>&) { return std::vector<Measurement>{}; };
  return benchmark;
}

}  // namespace duet
