#include "gemm/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "core/module.h"
#include "gemm/reference.h"
#include "gemm/sim/engine.h"

namespace duet {
namespace {

struct GemmRegistry {
  GemmRegistry() {
    engines.add(make_model_engine());
    references["host"] = reference_by_cpu;
    references["sim"] = reference_by_cpu;
  }

  EngineRegistry<GemmEngine> engines;
  std::mutex mutex;  // guards references
  std::map<std::string, GemmReference> references;
};

GemmRegistry& registry() {
  static GemmRegistry instance;
  return instance;
}

std::string no_room_for_openblas() {
  static const std::string no_room = no_room_for(kOpenBlasBytes);
  return no_room;
}

// A GPU vendor's module has several engines, whose names are known only when it is loaded. Another
// module has one engine, which has the module's name.
const std::vector<EngineModule>& gemm_modules() {
  static const std::vector<EngineModule> modules = {
      {"onednn", "onednn", {"host"}},
      {"openblas", "openblas", {"host"}, no_room_for_openblas},
      {"cuda", "", {"cuda"}},
      {"hip", "", {"hip"}}};
  return modules;
}

}  // namespace

void register_gemm_engine(std::unique_ptr<GemmEngine> engine) {
  registry().engines.add(std::move(engine));
}

void register_gemm_reference(const std::string& device_kind, GemmReference reference) {
  GemmRegistry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.references[device_kind] = std::move(reference);
}

GemmEngines gemm_engines(const std::string& device_kind, const std::vector<std::string>& wanted) {
  return registry().engines.find(device_kind, gemm_modules(), wanted);
}

std::vector<std::string> gemm_engine_names_of(const std::string& device_kind) {
  std::vector<std::string> unloaded;
  for (const EngineModule& module : gemm_modules()) {
    if (!module.serves(device_kind)) continue;
    // A vendor's module is loaded already, for its devices.
    if (!module.prefix.empty() || !module.load().empty()) unloaded.push_back(module.name);
  }
  std::vector<std::string> names;
  for (const GemmEngine* engine : registry().engines.of_kind(device_kind)) {
    names.push_back(engine->name());
  }
  for (const std::string& each : unloaded) {
    if (std::find(names.begin(), names.end(), each) == names.end()) names.push_back(each);
  }
  return names;
}

const GemmReference& gemm_reference(const std::string& device_kind) {
  GemmRegistry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.references.find(device_kind);
  if (found == all.references.end()) {
    throw Unavailable(fmt::format("no GEMM reference for devices of kind '{}'", device_kind));
  }
  return found->second;
}

Skipped no_epilogue(const GemmEngine& engine) { return {engine.name() + " has no epilogues"}; }

}  // namespace duet
