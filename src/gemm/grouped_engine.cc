#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "gemm/grouped.h"
#include "gemm/grouped_loop.h"
#include "gemm/sim/engine.h"

namespace duet {
namespace {

struct GroupedRegistry {
  GroupedRegistry() { engines.add(make_grouped_model_engine()); }

  // The loop over a GEMM engine, made when it is first asked for.
  GroupedGemmEngine* loop_over(GemmEngine* engine) {
    const std::lock_guard<std::mutex> lock(mutex);
    std::unique_ptr<GroupedGemmEngine>& loop = loops[engine];
    if (loop == nullptr) loop = make_grouped_loop(*engine);
    return loop.get();
  }

  EngineRegistry<GroupedGemmEngine> engines;
  std::mutex mutex;  // guards loops
  std::map<GemmEngine*, std::unique_ptr<GroupedGemmEngine>> loops;
};

GroupedRegistry& grouped_registry() {
  static GroupedRegistry instance;
  return instance;
}

std::string without_loop(const std::string& engine) {
  const std::string prefix = kLoopPrefix;
  return engine.rfind(prefix, 0) == 0 ? engine.substr(prefix.size()) : engine;
}

}  // namespace

void register_grouped_gemm_engine(std::unique_ptr<GroupedGemmEngine> engine) {
  grouped_registry().engines.add(std::move(engine));
}

GroupedGemmEngines grouped_gemm_engines(const std::string& device_kind,
                                        const std::vector<std::string>& wanted) {
  std::vector<std::string> of_products;
  std::transform(wanted.begin(), wanted.end(), std::back_inserter(of_products), without_loop);
  const GemmEngines products = gemm_engines(device_kind, of_products);
  GroupedGemmEngines found;
  for (GemmEngine* engine : products.engines) {
    found.engines.push_back(grouped_registry().loop_over(engine));
  }
  for (const auto& [missing, reason] : products.unavailable) {
    found.unavailable.emplace_back(kLoopPrefix + missing, reason);
  }
  for (GroupedGemmEngine* engine : grouped_registry().engines.of_kind(device_kind)) {
    found.engines.push_back(engine);
  }
  return found;
}

std::vector<std::string> grouped_gemm_engine_names_of(const std::string& device_kind) {
  std::vector<std::string> names;
  for (const std::string& each : gemm_engine_names_of(device_kind)) {
    names.push_back(kLoopPrefix + each);
  }
  for (const GroupedGemmEngine* engine : grouped_registry().engines.of_kind(device_kind)) {
    names.push_back(engine->name());
  }
  return names;
}

std::unique_ptr<GroupedGemmPlan> plan_grouped_gemm(Device& device,
                                                   const GroupedGemmProblem& problem,
                                                   const GemmBuffers& buffers,
                                                   const Tuning& tuning) {
  check(problem, buffers);
  GroupedGemmEngines found = grouped_gemm_engines(device.info().kind);
  std::stable_partition(found.engines.begin(), found.engines.end(),
                        [](const auto* engine) { return !is_loop(*engine); });
  std::vector<std::string> reasons;
  for (GroupedGemmEngine* engine : found.engines) {
    if (tunes(*engine)) continue;
    const auto skipped = engine->unsupported(device, problem);
    if (!skipped) return engine->plan(device, problem, buffers, tuning);
    reasons.push_back(fmt::format("{}: {}", engine->name(), skipped->reason));
  }
  for (const auto& [missing, reason] : found.unavailable) {
    reasons.push_back(fmt::format("{}: {}", missing, reason));
  }
  throw Unavailable(fmt::format("no engine multiplies {} on {}: {}", name(problem),
                                device.info().name, fmt::join(reasons, "; ")));
}

}  // namespace duet
