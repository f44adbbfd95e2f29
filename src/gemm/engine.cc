// The registries of engines and references. What needs no vendor's library is registered here;
// modules add theirs when they are loaded.
#include "gemm/engine.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "core/module.h"
#include "gemm/cpu/engine.h"
#include "gemm/reference.h"
#include "gemm/sim/engine.h"

namespace duet {
namespace {

struct Registry {
  Registry() {
    engines.push_back(make_cpu_engine());
    engines.push_back(make_model_engine());
    references["host"] = reference_by_cpu;
    references["sim"] = reference_by_cpu;
  }

  std::mutex mutex;
  std::vector<std::unique_ptr<GemmEngine>> engines;
  std::map<std::string, GemmReference> references;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

// The modules that bring engines for a kind of device.
std::vector<std::string> modules_for(const std::string& device_kind) {
  if (device_kind == "host") return {"onednn", "openblas"};
  if (device_kind == "cuda" || device_kind == "hip") return {device_kind};
  return {};
}

}  // namespace

void register_gemm_engine(std::unique_ptr<GemmEngine> engine) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.engines.push_back(std::move(engine));
}

void register_gemm_reference(const std::string& device_kind, GemmReference reference) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.references[device_kind] = std::move(reference);
}

GemmEngines gemm_engines(const std::string& device_kind) {
  GemmEngines found;
  // Loading registers, and so must not hold the registry's lock.
  for (const std::string& module : modules_for(device_kind)) {
    const ModuleState& state = load_module(module);
    if (!state.loaded) found.unavailable.emplace_back(module, state.reason);
  }
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (const auto& engine : all.engines) {
    if (engine->device_kind() == device_kind) found.engines.push_back(engine.get());
  }
  return found;
}

const GemmReference& gemm_reference(const std::string& device_kind) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.references.find(device_kind);
  if (found == all.references.end()) {
    throw Unavailable(fmt::format("no GEMM reference for devices of kind '{}'", device_kind));
  }
  return found->second;
}

}  // namespace duet
