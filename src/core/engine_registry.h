#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/module.h"
#include "core/names.h"

namespace duet {

// A module that registers engines when it is loaded.
struct EngineModule {
  std::string name;
  std::string prefix;              // of its engines' names; "": the module is loaded for any engine
  std::vector<std::string> kinds;  // of devices that its engines run on
  // Called before the module is loaded. Returns why it must not be loaded here, or "". nullptr: no
  // condition.
  std::string (*refusal)() = nullptr;

  bool serves(const std::string& device_kind) const {
    return std::find(kinds.begin(), kinds.end(), device_kind) != kinds.end();
  }

  bool brings_any_of(const std::vector<std::string>& wanted) const {
    return prefix.empty() || wanted.empty() ||
           std::any_of(wanted.begin(), wanted.end(),
                       [this](const std::string& engine) { return engine.rfind(prefix, 0) == 0; });
  }

  // Loads the module. Returns "" if it is loaded, otherwise why not.
  std::string load() const {
    const std::string refused = refusal != nullptr ? refusal() : "";
    return refused.empty() ? load_module(name).reason : refused;
  }
};

template <typename Engine>
struct FoundEngines {
  std::vector<Engine*> engines;  // in the order in which they registered
  std::vector<std::pair<std::string, std::string>> unavailable;  // module name and reason
};

// The engines of a workload: built-in ones, and those that modules register when they are loaded.
// Engine must have device_kind(), the kind of devices that it runs on, "" for all. Thread-safe.
template <typename Engine>
class EngineRegistry {
 public:
  void add(std::unique_ptr<Engine> engine) {
    const std::lock_guard<std::mutex> lock(mutex_);
    engines_.push_back(std::move(engine));
  }

  std::vector<Engine*> of_kind(const std::string& device_kind) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Engine*> found;
    for (const auto& engine : engines_) {
      const std::string kind = engine->device_kind();
      if (kind.empty() || kind == device_kind) found.push_back(engine.get());
    }
    return found;
  }

  // Loads the modules for a kind of device that may have an engine of `wanted`, or all of them if
  // `wanted` is empty, and returns all engines for that kind. Other modules are not loaded, because
  // their libraries may take memory and threads.
  FoundEngines<Engine> find(const std::string& device_kind,
                            const std::vector<EngineModule>& modules,
                            const std::vector<std::string>& wanted) {
    FoundEngines<Engine> found;
    // A module calls add() while it is loaded, so the lock must not be held here.
    for (const EngineModule& module : modules) {
      if (!module.serves(device_kind) || !module.brings_any_of(wanted)) continue;
      const std::string reason = module.load();
      if (!reason.empty()) found.unavailable.emplace_back(module.name, reason);
    }
    found.engines = of_kind(device_kind);
    return found;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Engine>> engines_;
};

// The engines of these names, in their order; all if `names` is empty. `find(wanted)` returns
// FoundEngines, as EngineRegistry::find(). Throws UsageError for a name that no engine has: it
// lists those that the machine's devices have. `workload`: "halo".
template <typename Find>
auto engines_of_names(const std::string& workload, const std::string& machine,
                      const std::vector<std::string>& names, Find find) {
  auto known = find(names);
  if (names.empty()) return known.engines;
  decltype(known.engines) chosen;
  for (const std::string& asked : names) {
    const auto found = std::find_if(known.engines.begin(), known.engines.end(),
                                    [&](const auto* engine) { return engine->name() == asked; });
    if (found != known.engines.end()) {
      chosen.push_back(*found);
      continue;
    }
    known = find(std::vector<std::string>{});
    std::vector<std::string> there;
    for (const auto* engine : known.engines) there.push_back(engine->name());
    for (const auto& [missing, reason] : known.unavailable) {
      there.push_back("no " + missing + " (" + reason + ")");
    }
    throw UsageError(unknown_engine_text(workload, asked, machine, there));
  }
  return chosen;
}

}  // namespace duet
