#include "collectives/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/cpu/engine.h"
#include "collectives/own_engines.h"
#include "collectives/session/lanes.h"
#include "collectives/sim/engine.h"
#include "core/suggestion.h"

namespace duet {
namespace {

EngineRegistry<CollectiveEngine>& registry() {
  static EngineRegistry<CollectiveEngine> engines;
  static const bool built_in_added = [] {
    engines.add(make_dma_collectives());
    engines.add(make_sdma_collectives());
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
  if (device_kind == "cuda") return {{"nccl", "nccl"}, {"nvshmem", "nvshmem"}, mpi};
  if (device_kind == "hip") return {{"rccl", "rccl"}, mpi};
  if (device_kind == "host") return {mpi};
  return {};
}

[[noreturn]] void refuse_engine(const std::string& asked, Machine& machine) {
  const CollectiveEngines known = collective_engines(machine.device(0).info().kind);
  std::vector<std::string> names;
  for (CollectiveEngine* engine : known.engines) names.push_back(engine->name());
  for (const auto& [missing, reason] : known.unavailable) {
    names.push_back(fmt::format("no {} ({})", missing, reason));
  }
  throw UsageError(unknown_engine_text("collective", asked, machine.name(), names));
}

}  // namespace

void CollectivePlan::enqueue_beside(Stream& stream, SideStreams& side, const CallCompute& compute) {
  compute.before(stream);
  if (!compute.beside) return enqueue(stream);
  side.fork(stream, 1);
  enqueue(side.at(0));
  compute.beside(stream);
  side.join(stream, 1);
}

std::unique_ptr<CollectiveMemory> CollectiveSession::allocate(Rank& rank, std::uint64_t bytes) {
  return std::make_unique<PlainMemory>(rank.device.allocate(bytes));
}

void register_collective_engine(std::unique_ptr<CollectiveEngine> engine) {
  registry().add(std::move(engine));
}

std::vector<CollectiveEngine*> registered_collective_engines(const std::string& device_kind) {
  return registry().of_kind(device_kind);
}

CollectiveEngines collective_engines(const std::string& device_kind,
                                     const std::vector<std::string>& wanted) {
  return registry().find(device_kind, modules_for(device_kind), wanted);
}

std::vector<CollectiveEngine*> engines_named(Machine& machine,
                                             const std::vector<std::string>& names) {
  const CollectiveEngines known = collective_engines(machine.device(0).info().kind, names);
  std::vector<CollectiveEngine*> chosen;
  if (names.empty()) chosen = known.engines;
  for (const std::string& asked : names) {
    const auto same = [&](CollectiveEngine* engine) { return engine->name() == asked; };
    const auto found = std::find_if(known.engines.begin(), known.engines.end(), same);
    if (found == known.engines.end()) refuse_engine(asked, machine);
    chosen.push_back(*found);
  }
  if (chosen.empty()) throw UsageError(machine.name() + " has no collective engine");
  return chosen;
}

}  // namespace duet
