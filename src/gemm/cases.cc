#include "gemm/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/error.h"
#include "core/names.h"
#include "gemm/cpu/peak.h"
#include "gemm/gemm_work.h"
#include "gemm/search.h"
#include "timing/sampler.h"

namespace duet {
namespace {

using Stop = std::function<bool()>;

// How a case is measured.
struct GemmCaseSettings {
  Mode mode;
  Stop stop;
  double tuning_seconds = 0;

  Tuning tuning() const { return {tuning_seconds, mode.flush}; }
};

constexpr const char* kPeakEngine = "fma-peak";  // the CPU's multiply-add peak; uses no library

// The CPU GEMM of earlier versions, named by old journals and scripts. It was removed because
// oneDNN reaches the expected share of the CPU's peak (docs/results/epyc-2-cores: at least 0.68 of
// the peak; 0.65 is expected).
constexpr const char* kRemovedCpuEngine = "duet";

// The problem of a case and its engine.
struct GemmSubject {
  GemmEngine& engine;
  GemmProblem problem;
};

// The device on which a case runs.
struct Target {
  Machine& machine;
  int device = 0;
  std::string name;  // as the journal shows it
};

Axes axes(const GemmProblem& p, const std::vector<std::string>& sets) {
  Axes all{{"m", p.m},
           {"n", p.n},
           {"k", p.k},
           {"dtype", std::string(name(p.dtype))},
           {"output", std::string(name(p.output))},
           {"layout", std::string(name(p.layout))},
           {"sets", sets}};
  if (p.accumulate) all.set("accumulate", true);
  if (p.epilogue != Epilogue::none) all.set("epilogue", name(p.epilogue));
  return all;
}

// What is not possible here is skipped.
Measurement measure(const Target& target, const CaseId& id, const GemmSubject& subject,
                    const GemmCaseSettings& settings) {
  Measurement result;
  result.id = id;
  result.skipped =
      subject.engine.unsupported(target.machine.device(target.device), subject.problem);
  if (result.skipped) return result;
  try {
    Team team(target.machine, {target.device});
    GemmWork work(subject.engine, subject.problem, settings.tuning());
    result.cost = work.cost();
    result.sampling = Sampler(team, settings.stop).measure(work, settings.mode);
    if (!work.algorithm().empty()) result.notes.emplace_back("algorithm", work.algorithm());
    return result;
  } catch (const OutOfMemory& error) {
    return skipped_measurement(id, error.what());
  } catch (const Unavailable& error) {
    return skipped_measurement(id, error.what());
  }
}

// Builds the list of cases.
class GemmCases {
 public:
  GemmCases(Machine& machine, GemmOptions options, Stop stop)
      : machine_(machine), options_(std::move(options)), stop_(std::move(stop)) {}

  Benchmark benchmark() {
    const int devices = options_.each_device ? machine_.size() : 1;
    for (int device = 0; device < devices; ++device) add_device(device);
    return {std::move(cases_),
            [](const std::vector<Finished>&) { return std::vector<Measurement>{}; }};
  }

 private:
  void add_device(int device) {
    const DeviceInfo& info = machine_.device(device).info();
    const Target target{machine_, device, options_.each_device ? info.name : options_.device_name};
    require_known(target);
    const GemmEngines found = gemm_engines(info.kind, options_.engines);
    if (info.is_cpu && wanted(kPeakEngine)) {
      for (DType dtype : options_.dtypes) add_peak(target, dtype);
    }
    std::vector<GemmEngine*> engines;
    for (GemmEngine* engine : found.engines) {
      if (wanted(engine->name())) engines.push_back(engine);
    }
    for_each_problem([&](const GemmShape& shape, GemmVariant variant) {
      for (GemmEngine* engine : engines) add_case(target, shape, variant, *engine);
      for (const auto& [missing, reason] : found.unavailable) {
        if (wanted(missing)) add_missing(target, shape, variant, {missing, reason});
      }
    });
    if (!options_.search) return;
    for (DType dtype : options_.dtypes) {
      for (Layout layout : options_.layouts) add_search(target, {dtype, layout}, engines);
    }
  }

  struct GemmVariant {
    DType dtype;
    Layout layout;
  };

  void for_each_problem(const std::function<void(const GemmShape&, GemmVariant)>& add) const {
    for (const GemmShape& shape : options_.shapes) {
      for (DType dtype : options_.dtypes) {
        for (Layout layout : options_.layouts) add(shape, {dtype, layout});
      }
    }
  }

  void require_known(const Target& target) const {
    const auto names = gemm_engine_names(machine_.device(target.device).info());
    for (const std::string& engine : options_.engines) {
      if (std::find(names.begin(), names.end(), engine) != names.end()) continue;
      if (engine == kRemovedCpuEngine) {
        throw UsageError(fmt::format(
            "GEMM engine '{}': Duet has no CPU GEMM of its own any more; use onednn or openblas",
            engine));
      }
      throw UsageError(unknown_engine_text("GEMM", engine, target.name, names));
    }
  }

  bool wanted(const std::string& engine) const {
    const auto& list = options_.engines;
    return list.empty() || std::find(list.begin(), list.end(), engine) != list.end();
  }

  GemmCaseSettings settings() const { return {options_.mode, stop_, options_.tuning_seconds}; }

  struct Missing {
    std::string engine, reason;
  };

  // Adds a case of an engine whose module could not be loaded; it is skipped with the reason.
  void add_missing(const Target& target, const GemmShape& shape, GemmVariant variant,
                   const Missing& missing) {
    const CaseId id{"gemm", target.name, missing.engine, axes(problem(shape, variant), shape.sets)};
    cases_.push_back(skipped_case(id, missing.reason, options_.mode));
  }

  void add_peak(const Target& target, DType dtype) {
    const CaseId id{"gemm_peak", target.name, kPeakEngine, {{"dtype", std::string(name(dtype))}}};
    cases_.push_back(
        {id, [target, id, dtype, stop = stop_] { return measure_peak(target, id, dtype, stop); },
         peak_mode()});
  }

  static Measurement measure_peak(const Target& target, const CaseId& id, DType dtype,
                                  const Stop& stop) {
    const auto loop = peak_loop(dtype);
    if (const auto* skipped = std::get_if<Skipped>(&loop)) {
      return skipped_measurement(id, skipped->reason);
    }
    Measurement result;
    result.id = id;
    Team team(target.machine, {target.device});
    const auto& chosen = std::get<PeakLoop>(loop);
    PeakWork work(chosen, team.device(0).info().compute_units);
    result.cost = work.cost();
    result.notes.emplace_back("instruction", chosen.instruction);
    result.sampling = Sampler(team, stop).measure(work, peak_mode());
    return result;
  }

  GemmProblem problem(const GemmShape& shape, GemmVariant variant) const {
    return {shape.m,
            shape.n,
            shape.k,
            variant.dtype,
            default_output(variant.dtype),
            variant.layout,
            options_.accumulate,
            options_.epilogue};
  }

  void add_case(const Target& target, const GemmShape& shape, GemmVariant variant,
                GemmEngine& engine) {
    const GemmProblem p = problem(shape, variant);
    const CaseId id{"gemm", target.name, engine.name(), axes(p, shape.sets)};
    cases_.push_back({id,
                      [target, id, &engine, p, settings = settings()] {
                        return measure(target, id, {engine, p}, settings);
                      },
                      options_.mode});
  }

  // Adds a search with every engine that the user named; if none, with the first that can run it.
  void add_search(const Target& target, GemmVariant variant,
                  const std::vector<GemmEngine*>& engines) {
    const GemmProblem any = problem({256, 256, 256, {}}, variant);
    for (GemmEngine* engine : engines) {
      if (engine->unsupported(machine_.device(target.device), any)) continue;
      CaseId id{"gemm_search",
                target.name,
                engine->name(),
                {{"dtype", std::string(name(any.dtype))},
                 {"output", std::string(name(any.output))},
                 {"layout", std::string(name(any.layout))}}};
      if (any.accumulate) id.axes.set("accumulate", true);
      if (any.epilogue != Epilogue::none) id.axes.set("epilogue", name(any.epilogue));
      cases_.push_back({id,
                        [target, id, engine, any, settings = settings()] {
                          return search(target, id, {*engine, any}, settings);
                        },
                        options_.mode});
      if (options_.engines.empty()) return;
    }
  }

  // Measures the shapes briefly, then the best one in the requested mode.
  static Measurement search(const Target& target, const CaseId& id, const GemmSubject& any,
                            const GemmCaseSettings& settings) {
    constexpr double kBriefSeconds = 0.2;
    GemmCaseSettings brief = settings;
    brief.mode = Mode{};
    brief.mode.seconds = kBriefSeconds;
    brief.mode.min_iterations = 3;
    brief.mode.flush = settings.mode.flush;
    const auto of_shape = [&any](const GemmShape& shape) {
      GemmSubject subject = any;
      std::tie(subject.problem.m, subject.problem.n, subject.problem.k) =
          std::tie(shape.m, shape.n, shape.k);
      return subject;
    };
    const auto rate = [&](const GemmShape& shape) {
      const GemmSubject subject = of_shape(shape);
      const Measurement trial = measure(target, id, subject, brief);
      if (!trial.sampling) return 0.0;
      const double seconds = summarise(trial.sampling->samples).median;
      // If one call takes this long, larger shapes do not use the device better.
      return seconds > kBriefSeconds ? 0.0 : flop(subject.problem) / seconds;
    };
    const SearchResult best = search_shapes({}, rate);
    if (best.rate <= 0) return skipped_measurement(id, "no shape could be measured");
    const GemmShape& s = best.shape;
    Measurement result = measure(target, id, of_shape(s), settings);
    result.notes.emplace_back("shape", fmt::format("{}x{}x{}", s.m, s.n, s.k));
    result.notes.emplace_back("shapes tried", std::to_string(best.trials));
    return result;
  }

  Machine& machine_;
  GemmOptions options_;
  Stop stop_;
  std::vector<Case> cases_;
};

}  // namespace

std::vector<std::string> gemm_engine_names(const DeviceInfo& device) {
  std::vector<std::string> names = gemm_engine_names_of(device.kind);
  if (device.is_cpu) names.push_back(kPeakEngine);
  return names;
}

DType default_gemm_dtype(Machine& machine) {
  Device& device = machine.device(0);
  if (!device.info().is_cpu) return DType::bf16;
  const GemmProblem any{64, 64, 64, DType::bf16, DType::bf16, Layout::nn};
  const std::vector<GemmEngine*> engines = gemm_engines("host").engines;
  const bool has_bf16 = std::any_of(engines.begin(), engines.end(), [&](const GemmEngine* engine) {
    return !engine->unsupported(device, any);
  });
  return has_bf16 ? DType::bf16 : DType::fp32;
}

Benchmark gemm_benchmark(Machine& machine, const GemmOptions& options, std::function<bool()> stop) {
  return GemmCases(machine, options, std::move(stop)).benchmark();
}

}  // namespace duet
