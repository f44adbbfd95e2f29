#include "gemm/grouped_cases.h"

#include <algorithm>

#include "core/error.h"
#include "core/names.h"
#include "gemm/grouped_loop.h"
#include "gemm/grouped_work.h"
#include "timing/sampler.h"

namespace duet {
namespace {

struct GroupedSettings {
  Mode mode;
  std::function<bool()> stop;
  Tuning tuning;
};

// The device on which a case runs.
struct GroupedTarget {
  Machine& machine;
  int device = 0;
  std::string name;  // as the journal shows it
};

// A problem with the figures and axes of its case.
struct GroupedSubject {
  GroupedGemmProblem problem;
  Axes axes;
};

GroupedSubject subject_of(const GroupedShape& shape, const Routing& routing, DType dtype,
                          Layout layout) {
  const GroupedGemmProblem problem{rows_of_groups(routing, shape.groups, shape.rows_per_group),
                                   shape.n,
                                   shape.k,
                                   dtype,
                                   default_output(dtype),
                                   layout};
  Axes axes;
  if (!shape.model.empty()) axes = {{"model", shape.model}, {"part", shape.part}};
  axes.set("groups", std::int64_t{shape.groups});
  axes.set("rows_per_group", shape.rows_per_group);
  axes.set("routing", name(routing));
  axes.set("n", shape.n);
  axes.set("k", shape.k);
  axes.set("dtype", std::string(name(dtype)));
  axes.set("output", std::string(name(problem.output)));
  axes.set("layout", std::string(name(layout)));
  return {problem, axes};
}

// What an engine is given: all rows as one group, where it is the dense product.
GroupedGemmProblem given(const GroupedGemmProblem& problem, bool dense) {
  GroupedGemmProblem all = problem;
  if (dense) all.rows = {problem.all_rows()};
  return all;
}

void add_figures(const GroupedGemmProblem& problem, Measurement& result) {
  const double mean =
      static_cast<double>(problem.all_rows()) / static_cast<double>(problem.groups());
  const auto largest = static_cast<double>(problem.rows_of_largest());
  result.metrics.emplace_back("rows_of_largest", largest);
  result.metrics.emplace_back("rows_max_over_mean", largest / mean);
  result.curves.emplace_back("rows_of_groups",
                             std::vector<double>(problem.rows.begin(), problem.rows.end()));
}

// What is not possible here is skipped.
Measurement measure_groups(const GroupedTarget& target, const CaseId& id, GroupedGemmEngine& engine,
                           const GroupedGemmProblem& problem, const GroupedSettings& settings) {
  Measurement result;
  result.id = id;
  const GroupedGemmProblem its = given(problem, id.engine == kDenseEngine);
  result.skipped = engine.unsupported(target.machine.device(target.device), its);
  if (result.skipped) return result;
  try {
    Team team(target.machine, {target.device});
    GroupedGemmWork work(engine, its, settings.tuning);
    result.cost = work.cost();
    result.sampling = Sampler(team, settings.stop).measure(work, settings.mode);
    if (!work.algorithm().empty()) result.notes.emplace_back("algorithm", work.algorithm());
    add_figures(problem, result);
    return result;
  } catch (const OutOfMemory& error) {
    return skipped_measurement(id, error.what());
  } catch (const Unavailable& error) {
    return skipped_measurement(id, error.what());
  }
}

// Builds the list of cases.
class GroupedCases {
 public:
  GroupedCases(Machine& machine, const GroupedGemmOptions& options, std::function<bool()> stop)
      : machine_(machine),
        options_(options),
        settings_{options.mode, std::move(stop), {options.tuning_seconds, options.mode.flush}} {}

  Benchmark benchmark() {
    const int devices = options_.each_device ? machine_.size() : 1;
    for (int device = 0; device < devices; ++device) add_device(device);
    return {std::move(cases_),
            [](const std::vector<Finished>&) { return std::vector<Measurement>{}; }};
  }

 private:
  void add_device(int device) {
    const DeviceInfo& info = machine_.device(device).info();
    const GroupedTarget target{machine_, device,
                               options_.each_device ? info.name : options_.device_name};
    require_known(info, target.name);
    const GroupedGemmEngines found = grouped_gemm_engines(info.kind, modules_wanted());
    for (const GroupedShape& shape : options_.shapes) {
      for (const Routing& routing : options_.routings) {
        for (const DType dtype : options_.dtypes) {
          for (const Layout layout : options_.layouts) {
            add_problem(target, found, subject_of(shape, routing, dtype, layout));
          }
        }
      }
    }
  }

  void add_problem(const GroupedTarget& target, const GroupedGemmEngines& found,
                   const GroupedSubject& subject) {
    if (wanted(kDenseEngine)) {
      if (GroupedGemmEngine* engine = dense_engine(target, found, subject.problem)) {
        add_case(target, kDenseEngine, *engine, subject);
      }
    }
    for (GroupedGemmEngine* engine : found.engines) {
      if (wanted(engine->name())) add_case(target, engine->name(), *engine, subject);
    }
    for (const auto& [missing, reason] : found.unavailable) {
      if (!wanted(missing)) continue;
      const CaseId id{"gemm_grouped", target.name, missing, subject.axes};
      cases_.push_back(skipped_case(id, reason, options_.mode));
    }
  }

  // The loop over the first engine that can multiply all rows and does not tune.
  GroupedGemmEngine* dense_engine(const GroupedTarget& target, const GroupedGemmEngines& found,
                                  const GroupedGemmProblem& problem) const {
    Device& device = machine_.device(target.device);
    for (GroupedGemmEngine* engine : found.engines) {
      if (is_loop(engine->name()) && !tunes(engine->name()) &&
          !engine->unsupported(device, given(problem, true)))
        return engine;
    }
    return nullptr;
  }

  void add_case(const GroupedTarget& target, const std::string& engine, GroupedGemmEngine& by,
                const GroupedSubject& subject) {
    const CaseId id{"gemm_grouped", target.name, engine, subject.axes};
    cases_.push_back({id,
                      [target, id, &by, problem = subject.problem, settings = settings_] {
                        return measure_groups(target, id, by, problem, settings);
                      },
                      options_.mode});
  }

  void require_known(const DeviceInfo& info, const std::string& device) const {
    const auto names = grouped_engine_names(info);
    for (const std::string& engine : options_.engines) {
      if (std::find(names.begin(), names.end(), engine) == names.end()) {
        throw UsageError(unknown_engine_text("grouped GEMM", engine, device, names));
      }
    }
  }

  // The dense product may take any engine, so that all modules are loaded for it.
  std::vector<std::string> modules_wanted() const {
    return wanted(kDenseEngine) ? std::vector<std::string>{} : options_.engines;
  }

  bool wanted(const std::string& engine) const {
    const auto& list = options_.engines;
    return list.empty() || std::find(list.begin(), list.end(), engine) != list.end();
  }

  Machine& machine_;
  const GroupedGemmOptions& options_;
  GroupedSettings settings_;
  std::vector<Case> cases_;
};

}  // namespace

std::vector<GroupedShape> shapes_of_experts(const ExpertModel& model, int groups,
                                            std::int64_t rows_per_group) {
  return {{model.name, "gate_up", groups, rows_per_group, 2 * model.width, model.hidden},
          {model.name, "down", groups, rows_per_group, model.hidden, model.width}};
}

std::vector<std::string> grouped_engine_names(const DeviceInfo& device) {
  std::vector<std::string> names = grouped_gemm_engine_names_of(device.kind);
  names.emplace_back(kDenseEngine);
  return names;
}

Benchmark grouped_gemm_benchmark(Machine& machine, const GroupedGemmOptions& options,
                                 std::function<bool()> stop) {
  return GroupedCases(machine, options, std::move(stop)).benchmark();
}

}  // namespace duet
