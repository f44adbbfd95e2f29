// The registry of collective engines, and what engines have in common.
#include "collectives/engine.h"

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

// The modules that bring engines for a kind of device.
std::vector<std::string> modules_for(const std::string& device_kind) {
  if (device_kind == "cuda") return {"nccl", "collectives_mpi"};
  if (device_kind == "hip") return {"rccl", "collectives_mpi"};
  if (device_kind == "host") return {"collectives_mpi"};
  return {};
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

CollectiveEngines collective_engines(const std::string& device_kind) {
  CollectiveEngines found;
  // Loading registers, and so must not hold the registry's lock.
  for (const std::string& module : modules_for(device_kind)) {
    const ModuleState& state = load_module(module);
    if (!state.loaded) found.unavailable.emplace_back(module, state.reason);
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
