#include "halo/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>
#include <string_view>

#include "collectives/engine.h"
#include "core/names.h"
#include "halo/exchange_session.h"
#include "halo/peer/engines.h"

namespace duet {
namespace {

EngineRegistry<HaloEngine>& registry() {
  static EngineRegistry<HaloEngine> engines;
  static const bool built_in_added = [] {
    engines.add(make_dma_halo());
    engines.add(make_kernel_halo());
    return true;
  }();
  static_cast<void>(built_in_added);
  return engines;
}

// The engines of `duet collective` that exchange halos as well.
constexpr std::string_view kByCollectives[] = {"host", "nccl",        "nccl-window",
                                               "rccl", "rccl-window", "mpi"};

// Adds those that have registered since the last call.
void add_collective_engines(const std::string& device_kind) {
  static std::mutex mutex;
  static std::set<const CollectiveEngine*> added;
  const std::lock_guard<std::mutex> lock(mutex);
  for (CollectiveEngine* engine : registered_collective_engines(device_kind)) {
    const bool exchanges = std::find(std::begin(kByCollectives), std::end(kByCollectives),
                                     engine->name()) != std::end(kByCollectives);
    if (exchanges && added.insert(engine).second) registry().add(halo_by(*engine));
  }
}

FoundEngines<HaloEngine> find_engines(const std::string& device_kind,
                                      const std::vector<std::string>& wanted) {
  add_collective_engines(device_kind);
  for (const EngineModule& module : collective_modules()) {
    if (!module.serves(device_kind) || !module.brings_any_of(wanted)) continue;
    if (module.load().empty()) add_collective_engines(device_kind);
  }
  return registry().find(device_kind, collective_modules(), wanted);
}

}  // namespace

Ring ring_of(const Rank& rank, const HaloGrid& grid) {
  if (grid.ranks == 1) return {0, rank.index, rank.index};
  if (grid.ranks != rank.size) {
    throw BadArgument(fmt::format("a grid of {} ranks on a team of {}: expected all of them or one",
                                  grid.ranks, rank.size));
  }
  return {rank.index, (rank.index + rank.size - 1) % rank.size, (rank.index + 1) % rank.size};
}

std::unique_ptr<HaloPlan> HaloSession::plan(Rank& rank, const HaloTask& task) {
  std::unique_ptr<HaloPlan> made;
  rank.team.all_or_none(rank, "all ranks to have planned a halo exchange", [&] {
    check(task.grid);
    if (const auto skipped = unsupported(task)) throw Unavailable(skipped->reason);
    made = make_plan(rank, task);
  });
  return made;
}

void register_halo_engine(std::unique_ptr<HaloEngine> engine) { registry().add(std::move(engine)); }

std::vector<HaloEngine*> halo_engines(Machine& machine, const std::vector<std::string>& names) {
  const std::string kind = machine.device(0).info().kind;
  return engines_of_names(
      "halo", machine.name(), names,
      [&](const std::vector<std::string>& wanted) { return find_engines(kind, wanted); });
}

}  // namespace duet
