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

using Loops = std::vector<std::unique_ptr<GroupedGemmEngine>>;

// Whether products of an engine on several streams are worth a try: not on a CPU, where one product
// takes all cores, and not for engines that would tune each product alone.
bool has_streams(const std::string& device_kind, const std::string& engine) {
  return device_kind != "host" && !tunes(engine);
}

struct GroupedRegistry {
  GroupedRegistry() { engines.add(make_grouped_model_engine()); }

  // The loops over a GEMM engine, made when they are first asked for.
  const Loops& loops_over(GemmEngine* engine) {
    const std::lock_guard<std::mutex> lock(mutex);
    Loops& its = loops[engine];
    if (its.empty()) {
      its.push_back(make_grouped_loop(*engine, false));
      if (has_streams(engine->device_kind(), engine->name())) {
        its.push_back(make_grouped_loop(*engine, true));
      }
    }
    return its;
  }

  EngineRegistry<GroupedGemmEngine> engines;
  std::mutex mutex;  // guards loops
  std::map<GemmEngine*, Loops> loops;
};

GroupedRegistry& grouped_registry() {
  static GroupedRegistry instance;
  return instance;
}

// From so many FLOP of a group on, on average, products on several streams are faster than one call
// for all. On an H200 cublasGemmGroupedBatchedEx reaches 320 TFLOP/s at most, and below that loops
// wait for their launches (docs/measuring.md).
constexpr double kFlopOfStreams = 2e9;

double flop_of_group(const GroupedGemmProblem& problem) {
  return flop(problem) /
         static_cast<double>(std::max<std::size_t>(1, filled_groups(problem).size()));
}

}  // namespace

void register_grouped_gemm_engine(std::unique_ptr<GroupedGemmEngine> engine) {
  grouped_registry().engines.add(std::move(engine));
}

GroupedGemmEngines grouped_gemm_engines(const std::string& device_kind,
                                        const std::vector<std::string>& wanted) {
  std::vector<std::string> of_products;
  std::transform(wanted.begin(), wanted.end(), std::back_inserter(of_products), engine_of_products);
  const GemmEngines products = gemm_engines(device_kind, of_products);
  GroupedGemmEngines found;
  for (GemmEngine* engine : products.engines) {
    for (const auto& loop : grouped_registry().loops_over(engine)) {
      found.engines.push_back(loop.get());
    }
  }
  for (const auto& [missing, reason] : products.unavailable) {
    found.unavailable.emplace_back("loop-" + missing, reason);
  }
  for (GroupedGemmEngine* engine : grouped_registry().engines.of_kind(device_kind)) {
    found.engines.push_back(engine);
  }
  return found;
}

std::vector<std::string> grouped_gemm_engine_names_of(const std::string& device_kind) {
  std::vector<std::string> names;
  for (const std::string& each : gemm_engine_names_of(device_kind)) {
    names.push_back("loop-" + each);
    if (has_streams(device_kind, each)) names.push_back("streams-" + each);
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
  const bool by_one_call = flop_of_group(problem) < kFlopOfStreams;
  std::stable_partition(found.engines.begin(), found.engines.end(), [&](const auto* engine) {
    return by_one_call ? !is_loop(engine->name()) : has_several_streams(engine->name());
  });
  std::vector<std::string> reasons;
  for (GroupedGemmEngine* engine : found.engines) {
    if (tunes(engine->name())) continue;
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
