// The registry of collective engines, and what engines have in common.
#include "collectives/engine.h"

#include <algorithm>
#include <mutex>

#include "collectives/cpu/engine.h"
#include "collectives/peer/engine.h"
#include "collectives/sim/engine.h"
#include "core/module.h"

namespace duet {
namespace {

struct Registry {
  Registry() {
    engines.push_back(make_dma_collectives());
    engines.push_back(make_kernel_collectives());
    engines.push_back(make_auto_collectives());
    engines.push_back(make_host_collectives());
    engines.push_back(make_vendor_model_collectives());
  }

  std::mutex mutex;
  std::vector<std::unique_ptr<CollectiveEngine>> engines;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

class PlainMemory : public CollectiveMemory {
 public:
  explicit PlainMemory(Buffer buffer) : buffer_(std::move(buffer)) {}
  Span span() const override { return buffer_.span(); }

 private:
  Buffer buffer_;
};

struct EngineModule {
  std::string name;
  std::string word;  // that the names of its engines begin with
};

// Those that bring engines for a kind of device.
std::vector<EngineModule> modules_for(const std::string& device_kind) {
  const EngineModule mpi{"collectives_mpi", "mpi"};
  if (device_kind == "cuda") return {{"nccl", "nccl"}, mpi};
  if (device_kind == "hip") return {{"rccl", "rccl"}, mpi};
  if (device_kind == "host") return {mpi};
  return {};
}

bool brings(const EngineModule& module, const std::vector<std::string>& wanted) {
  const auto its_own = [&](const std::string& name) { return name.rfind(module.word, 0) == 0; };
  return wanted.empty() || std::any_of(wanted.begin(), wanted.end(), its_own);
}

}  // namespace

std::unique_ptr<CollectiveMemory> CollectiveSession::allocate(Rank& rank, std::uint64_t bytes) {
  return std::make_unique<PlainMemory>(rank.device.allocate(bytes));
}

void register_collective_engine(std::unique_ptr<CollectiveEngine> engine) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.engines.push_back(std::move(engine));
}

CollectiveEngines collective_engines(const std::string& device_kind,
                                     const std::vector<std::string>& wanted) {
  CollectiveEngines found;
  // Loading registers, and so must not hold the registry's lock.
  for (const EngineModule& module : modules_for(device_kind)) {
    if (!brings(module, wanted)) continue;
    const ModuleState& state = load_module(module.name);
    if (!state.loaded) found.unavailable.emplace_back(module.name, state.reason);
  }
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (const auto& engine : all.engines) {
    const std::string kind = engine->device_kind();
    if (kind.empty() || kind == device_kind) found.engines.push_back(engine.get());
  }
  return found;
}

}  // namespace duet
