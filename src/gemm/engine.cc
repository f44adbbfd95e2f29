#include "gemm/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "core/address_space.h"
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

// A module for host devices has one engine, which has the module's name.
std::vector<EngineModule> modules_for(const std::string& device_kind) {
  if (device_kind == "host") {
    return {{"onednn", "onednn"}, {"openblas", "openblas", no_room_for_openblas}};
  }
  if (device_kind == "cuda" || device_kind == "hip") return {{device_kind, ""}};
  return {};
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
  return registry().engines.find(device_kind, modules_for(device_kind), wanted);
}

std::vector<std::string> gemm_engine_names_of(const std::string& device_kind) {
  // A GPU vendor's module has several engines, whose names are known only when it is loaded. It is
  // already loaded for its devices.
  if (device_kind != "host") gemm_engines(device_kind);
  std::vector<std::string> names;
  for (const GemmEngine* engine : registry().engines.of_kind(device_kind)) {
    names.push_back(engine->name());
  }
  for (const EngineModule& module : modules_for(device_kind)) {
    const bool loaded = device_kind != "host" && module.load().empty();
    const bool named = std::find(names.begin(), names.end(), module.name) != names.end();
    if (!loaded && !named) names.push_back(module.name);
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
