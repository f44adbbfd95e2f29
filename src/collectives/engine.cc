#include "collectives/engine.h"

#include "collectives/cpu/engine.h"
#include "collectives/peer/engine.h"
#include "collectives/sim/engine.h"

namespace duet {
namespace {

EngineRegistry<CollectiveEngine>& registry() {
  static EngineRegistry<CollectiveEngine> engines;
  static const bool built_in_added = [] {
    engines.add(make_dma_collectives());
    engines.add(make_kernel_collectives());
    engines.add(make_auto_collectives());
    engines.add(make_host_collectives());
    engines.add(make_vendor_model_collectives());
    return true;
  }();
  static_cast<void>(built_in_added);
  return engines;
}

class PlainMemory : public CollectiveMemory {
 public:
  explicit PlainMemory(Buffer buffer) : buffer_(std::move(buffer)) {}
  Span span() const override { return buffer_.span(); }

 private:
  Buffer buffer_;
};

std::vector<EngineModule> modules_for(const std::string& device_kind) {
  const EngineModule mpi{"collectives_mpi", "mpi"};
  if (device_kind == "cuda") return {{"nccl", "nccl"}, mpi};
  if (device_kind == "hip") return {{"rccl", "rccl"}, mpi};
  if (device_kind == "host") return {mpi};
  return {};
}

}  // namespace

std::unique_ptr<CollectiveMemory> CollectiveSession::allocate(Rank& rank, std::uint64_t bytes) {
  return std::make_unique<PlainMemory>(rank.device.allocate(bytes));
}

void register_collective_engine(std::unique_ptr<CollectiveEngine> engine) {
  registry().add(std::move(engine));
}

CollectiveEngines collective_engines(const std::string& device_kind,
                                     const std::vector<std::string>& wanted) {
  return registry().find(device_kind, modules_for(device_kind), wanted);
}

}  // namespace duet
