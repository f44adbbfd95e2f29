#include "collectives/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "collectives/own_engines.h"
#include "collectives/session/lanes.h"
#include "core/names.h"

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

// A call that frees a GPU's memory waits for all that the process has enqueued on it, so for a
// stream that waits for another rank.
void require_own_devices(Machine& machine) {
  std::set<std::string> buses;
  for (int i = 0; i < machine.size(); ++i) {
    const DeviceInfo& info = machine.device(i).info();
    if (info.bus.empty() || buses.insert(info.bus).second) continue;
    throw UsageError(fmt::format(
        "{}: collectives of ranks that share a GPU need a process for each: expected --device {} "
        "in each of several processes",
        machine.name(), info.name));
  }
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

void CollectivePlan::enqueue_rows(Stream&, const MultiplyRows&) {
  throw BadArgument("a collective without rows that are multiplied");
}

void CollectivePlan::enqueue_at(Stream&, const BufferAddresses&) {
  throw BadArgument("expected a call that takes other buffers than those that it was planned with");
}

void CollectivePlan::enqueue_observed(Stream& stream, StepObserver& observer) {
  observer.begins(stream, 0, "call");
  enqueue(stream);
  observer.ends(stream);
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

const std::vector<EngineModule>& collective_modules() {
  static const std::vector<EngineModule> modules = {
      {"nccl", "nccl", {"cuda"}},
      {"nvshmem", "nvshmem", {"cuda"}},
      {"rccl", "rccl", {"hip"}},
      {"collectives_mpi", "mpi", {"cuda", "hip", "host"}}};
  return modules;
}

CollectiveEngines collective_engines(const std::string& device_kind,
                                     const std::vector<std::string>& wanted) {
  return registry().find(device_kind, collective_modules(), wanted);
}

std::vector<CollectiveEngine*> engines_named(Machine& machine,
                                             const std::vector<std::string>& names) {
  require_own_devices(machine);
  const std::string kind = machine.device(0).info().kind;
  const std::vector<CollectiveEngine*> chosen = engines_of_names(
      "collective", machine.name(), names,
      [&](const std::vector<std::string>& wanted) { return collective_engines(kind, wanted); });
  if (chosen.empty()) throw UsageError(machine.name() + " has no collective engine");
  return chosen;
}

std::string usual_engine(const std::string& device_kind) {
  const std::string vendor = device_kind == "cuda"  ? "nccl"
                             : device_kind == "hip" ? "rccl"
                                                    : "vendor-model";
  const std::vector<CollectiveEngine*> found = collective_engines(device_kind, {vendor}).engines;
  const bool is_there = std::any_of(found.begin(), found.end(), [&](const CollectiveEngine* each) {
    return each->name() == vendor;
  });
  return is_there ? vendor : "kernel";
}

}  // namespace duet
