// The engines of a workload: built-in ones, and those that modules bring when they are loaded.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/module.h"

namespace duet {

// A module that brings engines.
struct EngineModule {
  std::string name;
  std::string prefix;  // that its engines' names begin with; "": it is loaded whatever is wanted
  // Why it must not be loaded here, or ""; asked before it is. nullptr: it always may.
  std::string (*refusal)() = nullptr;

  bool brings_any_of(const std::vector<std::string>& wanted) const {
    return prefix.empty() || wanted.empty() ||
           std::any_of(wanted.begin(), wanted.end(),
                       [this](const std::string& engine) { return engine.rfind(prefix, 0) == 0; });
  }

  // "" where it is loaded, else why not.
  std::string load() const {
    const std::string refused = refusal != nullptr ? refusal() : "";
    return refused.empty() ? load_module(name).reason : refused;
  }
};

template <typename Engine>
struct FoundEngines {
  std::vector<Engine*> engines;  // in the order in which they registered
  std::vector<std::pair<std::string, std::string>> unavailable;  // modules, and why
};

// Engine has device_kind(): the kind of devices that it runs on, "" for all. Any thread may call.
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

  // Loads those of the modules that bring an engine of `wanted`, all if it names none: a library
  // that nobody asked for may take memory and threads.
  FoundEngines<Engine> find(const std::string& device_kind,
                            const std::vector<EngineModule>& modules,
                            const std::vector<std::string>& wanted) {
    FoundEngines<Engine> found;
    // Loading adds engines, and so must not hold the lock.
    for (const EngineModule& module : modules) {
      if (!module.brings_any_of(wanted)) continue;
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

}  // namespace duet
