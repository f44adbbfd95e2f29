// The registries of engines and references. What needs no vendor's library is registered here;
// modules add theirs when they are loaded.
#include "gemm/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "core/address_space.h"
#include "core/module.h"
#include "gemm/reference.h"
#include "gemm/sim/engine.h"

namespace duet {
namespace {

struct Registry {
  Registry() {
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

// The modules that bring engines for a kind of device: on host one each, of the module's name.
std::vector<std::string> modules_for(const std::string& device_kind) {
  if (device_kind == "host") return {"onednn", "openblas"};
  if (device_kind == "cuda" || device_kind == "hip") return {device_kind};
  return {};
}

// Nothing where it is loaded, else why not.
std::string load(const std::string& module) {
  if (module == "openblas") {
    static const std::string no_room = no_room_for(kOpenBlasBytes);  // before it is loaded
    if (!no_room.empty()) return no_room;
  }
  return load_module(module).reason;
}

std::vector<GemmEngine*> registered(const std::string& device_kind) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::vector<GemmEngine*> found;
  for (const auto& engine : all.engines) {
    if (engine->device_kind() == device_kind) found.push_back(engine.get());
  }
  return found;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
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

GemmEngines gemm_engines(const std::string& device_kind, const std::vector<std::string>& wanted) {
  GemmEngines found;
  // Loading registers, and so must not hold the registry's lock.
  for (const std::string& module : modules_for(device_kind)) {
    if (device_kind == "host" && !wanted.empty() && !has(wanted, module)) continue;
    const std::string reason = load(module);
    if (!reason.empty()) found.unavailable.emplace_back(module, reason);
  }
  found.engines = registered(device_kind);
  return found;
}

std::vector<std::string> gemm_engine_names_of(const std::string& device_kind) {
  // A vendor's module brings several, and was loaded for its devices.
  if (device_kind != "host") gemm_engines(device_kind);
  std::vector<std::string> names;
  for (const GemmEngine* engine : registered(device_kind)) names.push_back(engine->name());
  for (const std::string& module : modules_for(device_kind)) {
    const bool known = device_kind != "host" && load(module).empty();
    if (!known && !has(names, module)) names.push_back(module);
  }
  return names;
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
