#include "training/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <tuple>

#include "collectives/open_sessions.h"
#include "core/names.h"
#include "timing/energy_meter.h"
#include "timing/power_draw.h"
#include "timing/sampler.h"
#include "training/communication.h"
#include "training/training_work.h"

namespace duet {
namespace {

// The model's axes, and what is not as usual.
Axes axes(const ModelDescription& model, const Recipe& recipe, const Optimizer& optimizer,
          std::int64_t accumulate, UpdateOrder order = UpdateOrder::after) {
  Axes all{{"model", model.name}, {"recipe", recipe.name}};
  for (const auto& [axis, value] : model.axes) all.set(axis, value);
  if (recipe.fp8_gradients == DType::fp8_e5m2) all.set("fp8_gradients", "e5m2");
  if (optimizer.kind != OptimizerKind::adamw) all.set("optimizer", name(optimizer.kind));
  if (accumulate > 1) all.set("accumulate", accumulate);
  if (order != UpdateOrder::after) all.set("update", name(order));
  return all;
}

constexpr const char* kWithoutCommunication =
    "engine none communicates nothing: its time is a bound, and no model is trained";

// Of parallel steps: the ranks and their sessions.
using Sessions = std::shared_ptr<OpenSessions>;

// One model, as the options say.
struct TrainingCase {
  CaseId id;
  ModelDescription model;
  StepSettings step;
  Mode mode;
  bool breakdown;
  double energy_seconds;
  ParallelSettings parallel;           // without its session
  Sessions sessions;                   // nullptr: on the machine's first device alone
  CollectiveEngine* engine = nullptr;  // nullptr: nothing is communicated
};

// `batches`: of all ranks, in one step.
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

// As curves: for each kind of part, where each began and ended. Operations of a kind that follow
// each other are one.
void add_timeline(Measurement& result, const std::vector<StepTimeline::Part>& parts) {
  std::map<std::string, std::vector<double>> curves;
  const StepTimeline::Part* before = nullptr;
  for (const StepTimeline::Part& each : parts) {
    if (each.end <= each.begin) continue;
    std::vector<double>& ends = curves["timeline_" + each.what];
    const bool goes_on = before != nullptr && !each.beside && before->what == each.what;
    if (goes_on) ends.pop_back();
    if (!goes_on) ends.push_back(each.begin);
    ends.push_back(each.end);
    before = &each;
  }
  result.curves.assign(curves.begin(), curves.end());
}

void add_energy(Measurement& result, const PowerDraw& draw) {
  const double joules = draw.joules(0);  // steps follow each other without a gap
  const bool of_tokens = result.cost.more.contains(kTokens);
  const double items = result.cost.more.value(of_tokens ? kTokens : kSamples);
  result.metrics.emplace_back("joules", joules);
  result.metrics.emplace_back("watts", draw.watts);
  result.metrics.emplace_back(of_tokens ? "joules_per_token" : "joules_per_sample", joules / items);
  result.metrics.emplace_back("energy_resolution", draw.resolution);
}

// What the options ask for besides steps; between the last step and its verification.
void measure_besides(Team& team, TrainingWork& work, const TrainingCase& one,
                     const EnergySource& energy, const RunAgain& again, Measurement& result) {
  if (!energy.counters.empty()) {
    add_energy(result,
               power_draw(energy.counters, one.energy_seconds, one.mode.deadline_seconds, again));
  }
  team.each([&](Rank& rank) {
    const double communication = work.time_communication(rank);
    if (rank.local == 0 && communication > 0) {
      result.metrics.emplace_back("communication_seconds", communication);
    }
    if (!one.breakdown) return;
    const auto parts = work.time_parts(rank);
    const auto timeline = work.time_step(rank);
    if (rank.local > 0) return;
    add_parts(result, parts);
    add_timeline(result, timeline);
  });
}

Measurement measure_steps(Team& team, const TrainingCase& one, const ParallelSettings& parallel,
                          const std::function<bool()>& stop) {
  Measurement result;
  result.id = one.id;
  TrainingWork work(team, one.model, one.step, parallel);
  result.cost = work.cost();
  const EnergySource energy = one.energy_seconds > 0 ? energy_source(team) : EnergySource();
  const auto after = [&](const RunAgain& again) {
    measure_besides(team, work, one, energy, again, result);
  };
  result.sampling = Sampler(team, stop).measure(work, one.mode, {}, after);
  result.cost = work.cost();
  if (!energy.unavailable.empty()) {
    result.sampling->warnings.push_back("no energy: " + energy.unavailable);
  }
  add_rates(result, one.model, one.step.accumulate * batches_of(parallel, team.size()));
  add_memory(result, work);
  result.notes.assign(work.notes().begin(), work.notes().end());
  return result;
}

// The sessions of one engine that parallel steps need.
class StepSessions {
 public:
  StepSessions(OpenSessions& open, CollectiveEngine& engine, const ParallelSettings& settings)
      : settings_(settings) {
    Team& team = open.team();
    if (settings.tensor_ranks > 1) {
      groups_.emplace(team, settings.tensor_ranks, engine);
      settings_.groups = &*groups_;
      const Rank first = team.local_rank(0);
      of_rows_ = groups_->tensor.session(first).get();
      of_batches_ = groups_->data.session(first).get();
    } else {
      settings_.session = &open.session(engine);
      of_rows_ = of_batches_ = settings_.session;
    }
  }

  const ParallelSettings& settings() const { return settings_; }
  // The reason why they cannot run what ranks communicate.
  std::optional<Skipped> unsupported(const Recipe& recipe) const;

 private:
  ParallelSettings settings_;
  std::optional<ParallelGroups> groups_;
  const CollectiveSession *of_rows_ = nullptr, *of_batches_ = nullptr;
};

std::optional<Skipped> StepSessions::unsupported(const Recipe& recipe) const {
  using Kind = CollectiveKind;
  const auto refused = [](const CollectiveSession& session, Kind kind, DType dtype) {
    Collective collective;
    collective.count = 1;
    collective.dtype = dtype;
    collective.kind = kind;
    return session.unsupported(collective, kind == Kind::all_reduce);
  };
  const bool divides = settings_.kind == Parallel::zero3;
  const bool exchanges = settings_.kind == Parallel::tp || settings_.kind == Parallel::ep ||
                         settings_.tensor_ranks > 1;
  std::vector<std::tuple<const CollectiveSession*, Kind, DType>> calls;
  if (!divides) calls.emplace_back(of_batches_, Kind::all_reduce, recipe.gradients);
  if (divides) calls.emplace_back(of_batches_, Kind::reduce_scatter, recipe.gradients);
  if (divides) calls.emplace_back(of_batches_, Kind::all_gather, recipe.compute);
  if (exchanges) calls.emplace_back(of_rows_, Kind::reduce_scatter, recipe.compute);
  if (exchanges) calls.emplace_back(of_rows_, Kind::all_gather, recipe.compute);
  for (const auto& [session, kind, dtype] : calls) {
    if (auto reason = refused(*session, kind, dtype)) return reason;
  }
  return of_rows_->uncapturable();
}

Measurement measure_parallel(const TrainingCase& one, const std::function<bool()>& stop) {
  Team& team = one.sessions->team();
  if (one.engine == nullptr) {
    Measurement bound = measure_steps(team, one, one.parallel, stop);
    bound.sampling->warnings.emplace_back(kWithoutCommunication);
    return bound;
  }
  try {
    const StepSessions sessions(*one.sessions, *one.engine, one.parallel);
    if (const auto reason = sessions.unsupported(one.step.recipe)) {
      return skipped_measurement(one.id, reason->reason);
    }
    return measure_steps(team, one, sessions.settings(), stop);
  } catch (...) {
    one.sessions->close(*one.engine);
    throw;
  }
}

Measurement measure_case(Machine& machine, const TrainingCase& one,
                         const std::function<bool()>& stop) {
  if (one.sessions != nullptr) return measure_parallel(one, stop);
  Team team(machine, {0});
  return measure_steps(team, one, {}, stop);
}

void set_parallel(CaseId& id, const ParallelSettings& settings, CollectiveEngine* engine,
                  std::int64_t ranks) {
  id.engine = engine != nullptr ? engine->name() : kNoEngine;
  id.axes.set("parallel", name(settings.kind));
  id.axes.set("ranks", ranks);
  if (settings.tensor_ranks > 1) id.axes.set("tensor_ranks", settings.tensor_ranks);
  if (settings.keep_gathered) id.axes.set("keep_gathered", "yes");
  if (settings.late_sums) id.axes.set("late_sums", "yes");
  if (settings.bucket_bytes != ParallelSettings().bucket_bytes) {
    id.axes.set("bucket", static_cast<std::int64_t>(settings.bucket_bytes));
  }
}

// What would add gradients to shards that are reduced already.
void require_no_accumulation(const ParallelSettings& parallel, std::int64_t accumulate) {
  if (parallel.kind != Parallel::zero3 || accumulate == 1) return;
  throw UsageError("--accumulate: expected 1 with --parallel zero3");
}

// Throws UsageError where ranks cannot divide the model's experts.
void require_divisible_experts(const ModelDescription& model, int ranks) {
  if (!model.why_experts_not_divisible) {
    throw UsageError("--parallel ep: expected qwen3-moe, whose experts devices divide");
  }
  const std::string reason = model.why_experts_not_divisible(ranks);
  if (reason.empty()) return;
  throw UsageError(fmt::format("--parallel ep: {} has {}", model.name, reason));
}

// Throws UsageError where ranks cannot divide the model's linears or experts.
void require_divisible(const ParallelSettings& parallel, const ModelDescription& model,
                       const Recipe& recipe, int ranks) {
  if (parallel.kind == Parallel::ep) return require_divisible_experts(model, ranks);
  const int sharing = tensor_ranks_of(parallel, ranks);
  if (sharing == 1) return;
  const char* const flag = parallel.kind == Parallel::tp ? "--parallel tp" : "--tensor-ranks";
  if (ranks % sharing != 0) {
    throw UsageError(
        fmt::format("--tensor-ranks: expected a divisor of the {} ranks, not {}", ranks, sharing));
  }
  if (!model.why_not_divisible) {
    throw UsageError(fmt::format("{}: expected gpt, or qwen3 without --lora", flag));
  }
  if (recipe.fp8) throw UsageError(fmt::format("{}: expected another --recipe than fp8", flag));
  const std::string reason = model.why_not_divisible(sharing);
  if (reason.empty()) return;
  throw UsageError(fmt::format("{}: {} has {}", flag, model.name, reason));
}

CaseId run_id(const TrainingRunOptions& options, const TrainingRunSettings& settings) {
  Axes all = axes(settings.model.model, settings.recipe, settings.optimizer, settings.accumulate);
  all.set("data", std::filesystem::path(settings.data).filename().string());
  all.set("steps", settings.learning_rate.steps);
  all.set("seed", static_cast<std::int64_t>(settings.seed));
  return {"train_run", options.device_name, "duet", all};
}

// The engines of parallel steps, by name; nullptr: none is summed.
std::vector<CollectiveEngine*> engines_of(Machine& machine, const TrainingOptions& options) {
  std::vector<CollectiveEngine*> engines;
  for (const std::string& each : options.engines) {
    engines.push_back(each == kNoEngine ? nullptr : engines_named(machine, {each}).front());
  }
  return engines;
}

// A run on text, as the options say.
struct RunCase {
  CaseId id;
  std::shared_ptr<const TrainingInput> input;
  std::function<void(const TrainingCurves&)> after_step;
  Generation generation;
  std::function<void(const std::string&)> after_generation;
  ParallelSettings parallel;  // without its session
  Sessions sessions;          // nullptr: on the machine's first device alone
  CollectiveEngine* engine = nullptr;
};

// What a run leaves, of the first local rank.
struct RunResult {
  TrainingCurves curves;
  std::uint64_t memory_bytes = 0;
  std::map<std::string, std::string> notes;
};

RunResult run_on(Team& team, const RunCase& one, const ParallelSettings& parallel,
                 const std::function<bool()>& stop) {
  RunResult result;
  team.each([&](Rank& rank) {
    TrainingRun run(rank, *one.input, parallel);
    TrainingCurves curves = run.run(stop, one.after_step);
    if (one.generation.tokens > 0) {
      const std::string text = run.generate(one.generation, stop);
      if (rank.index == 0) one.after_generation(text);
    }
    if (rank.local == 0) result = {std::move(curves), run.memory_bytes(), run.notes()};
  });
  return result;
}

RunResult run_in_parallel(const RunCase& one, const std::function<bool()>& stop) {
  const StepSessions sessions(*one.sessions, *one.engine, one.parallel);
  if (const auto reason = sessions.unsupported(one.input->settings().recipe)) {
    throw Unavailable(reason->reason);
  }
  return run_on(one.sessions->team(), one, sessions.settings(), stop);
}

RunResult run_alone(Machine& machine, const RunCase& one, const std::function<bool()>& stop) {
  Team team(machine, {0});
  return run_on(team, one, {}, stop);
}

Measurement run_case(Machine& machine, const RunCase& one, const std::function<bool()>& stop) {
  const TrainingRunSettings& settings = one.input->settings();
  const RunResult run =
      one.sessions != nullptr ? run_in_parallel(one, stop) : run_alone(machine, one, stop);
  const TrainingCurves& curves = run.curves;
  if (curves.loss.empty())
    return skipped_measurement(one.id, "no step was left; the model is saved");
  Measurement result;
  result.id = one.id;
  const ModelDescription& model = settings.model.model;
  const auto batches = static_cast<double>(settings.accumulate * settings.ranks);
  result.cost = times(model.cost, batches);
  result.sampling.emplace();
  result.sampling->samples = curves.seconds;
  result.sampling->stopped_by = result.sampling->mode = "steps";
  result.sampling->verified = true;  // each step's loss was finite
  result.metrics = {{"first_step", static_cast<double>(curves.first_step)},
                    {"final_loss", curves.loss.back()},
                    {"memory_bytes", static_cast<double>(run.memory_bytes)}};
  if (!curves.evaluation_loss.empty()) {
    result.metrics.emplace_back("evaluation_loss", curves.evaluation_loss.back());
  }
  result.notes.assign(run.notes.begin(), run.notes.end());
  result.curves = {{"loss", curves.loss},
                   {"learning_rate", curves.learning_rate},
                   {"gradient_norm", curves.gradient_norm},
                   {"evaluation_step", curves.evaluation_step},
                   {"evaluation_loss", curves.evaluation_loss}};
  return result;
}

}  // namespace

Benchmark training_benchmark(Machine& machine, const TrainingOptions& options,
                             std::function<bool()> stop, Processes* processes) {
  require_no_accumulation(options.parallel, options.accumulate);
  Sessions sessions;
  std::vector<CollectiveEngine*> engines{nullptr};
  if (options.parallel.kind != Parallel::none) {
    sessions =
        std::make_shared<OpenSessions>(machine, processes, options.node_size, options.network);
    sessions->team().together([&] { engines = engines_of(machine, options); });
    for (CollectiveEngine* engine : engines) {
      if (engine != nullptr) engine->check_settings(sessions->team());
    }
  }
  Benchmark benchmark;
  const auto add = [&](const ModelDescription& model, const Recipe& recipe,
                       CollectiveEngine* engine) {
    if (sessions != nullptr) {
      require_divisible(options.parallel, model, recipe, sessions->team().size());
    }
    CaseId id{"train", options.device_name, "duet",
              axes(model, recipe, options.optimizer, options.accumulate, options.order)};
    if (options.operations.deterministic) id.axes.set("deterministic", "yes");
    if (sessions != nullptr) {
      set_parallel(id, options.parallel, engine, sessions->team().size());
    }
    const TrainingCase one{
        id,
        model,
        {recipe, options.optimizer, options.accumulate, options.order, options.operations},
        options.mode,
        options.breakdown,
        options.energy_seconds,
        options.parallel,
        sessions,
        engine};
    benchmark.cases.push_back(
        {id, [&machine, one, stop] { return measure_case(machine, one, stop); }, one.mode});
  };
  for (const ModelDescription& model : options.models) {
    for (const Recipe& recipe : options.recipes) {
      for (CollectiveEngine* engine : engines) add(model, recipe, engine);
    }
  }
  benchmark.conclude = [sessions](const std::vector<Finished>& finished) {
    if (sessions != nullptr) sessions->close();
    return conclude_training(finished);
  };
  return benchmark;
}

Benchmark training_run_benchmark(Machine& machine, const TrainingRunOptions& options,
                                 std::function<bool()> stop, Processes* processes) {
  RunCase one;
  TrainingRunSettings settings = options.settings;
  const auto open_input = [&] { one.input = std::make_shared<TrainingInput>(settings); };
  if (options.parallel.kind == Parallel::none) {
    open_input();
  } else {
    require_no_accumulation(options.parallel, settings.accumulate);
    one.sessions =
        std::make_shared<OpenSessions>(machine, processes, options.node_size, options.network);
    const int ranks = one.sessions->team().size();
    require_divisible(options.parallel, settings.model.model, settings.recipe, ranks);
    settings.ranks = batches_of(options.parallel, ranks);
    if (settings.ranks < ranks && options.generation.tokens > 0) {
      throw UsageError("--generate: expected without --parallel tp and --tensor-ranks");
    }
    one.sessions->team().together([&] {
      one.engine = engines_named(machine, {options.engine}).front();
      open_input();
    });
    one.engine->check_settings(one.sessions->team());
    one.sessions->team().each([&](Rank& rank) { one.input->require_same_on_all(rank); });
  }
  if (options.generation.tokens > 0 && !one.input->of_bytes()) {
    throw UsageError(fmt::format("{}: holds tokens, of which no text can be made: expected a text",
                                 settings.data));
  }
  one.after_step = options.after_step;
  one.generation = options.generation;
  one.after_generation = options.after_generation;
  one.parallel = options.parallel;
  one.id = run_id(options, one.input->settings());
  if (one.engine != nullptr)
    set_parallel(one.id, one.parallel, one.engine, one.sessions->team().size());
  Benchmark benchmark;
  benchmark.cases.push_back(
      {one.id, [&machine, one, stop] { return run_case(machine, one, stop); }, {}});
  benchmark.conclude = [sessions = one.sessions](const std::vector<Finished>&) {
    if (sessions != nullptr) sessions->close();
    return std::vector<Measurement>{};
  };
  return benchmark;
}

}  // namespace duet
