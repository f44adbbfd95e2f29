// Order of the cases: by grid, scaling, ranks and norm. The engines' cases of one problem follow
// each other, so they run within the same minute.
#include "halo/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/error.h"
#include "halo/open_teams.h"
#include "timing/sampler.h"

namespace duet {
namespace {

// The parameters of a case other than its engine.
struct HaloCall {
  HaloSettings settings;
  Scaling scaling = Scaling::none;
  std::int64_t ny = 0;  // as the axis shows it: rows a rank where scaling is weak
};

Axes axes(const HaloCall& call) {
  const HaloTask& task = call.settings.task;
  return {{"type", "fp32"},
          {"nx", task.grid.nx},
          {"ny", call.ny},
          {"scaling", std::string(name(call.scaling))},
          {"ranks", std::int64_t{task.grid.ranks}},
          {"overlap", task.overlap},
          {"norm", std::string(name(call.settings.norm))},
          {"graph", call.settings.graph}};
}

class HaloCases {
 public:
  HaloCases(Machine& machine, HaloOptions options, std::function<bool()> stop, Processes* processes)
      : machine_(machine),
        options_(std::move(options)),
        stop_(std::move(stop)),
        processes_(processes),
        open_(
            std::make_shared<OpenTeams>(machine, processes, options_.node_size, options_.network)),
        all_ranks_(machine.size()) {
    const auto find_engines = [&] { engines_ = halo_engines(machine, options_.engines); };
    if (processes_ != nullptr) {
      Team& team = open_->team(machine.size()).team;
      all_ranks_ = team.size();
      team.together(find_engines);
    } else {
      find_engines();
    }
    if (options_.nx.empty()) options_.nx = default_halo_sizes(machine);
    check_ranks();
  }

  Benchmark benchmark() {
    for (const std::int64_t nx : options_.nx) {
      if (options_.ny.empty()) add_grid(nx, nx);
      for (const std::int64_t ny : options_.ny) add_grid(nx, ny);
    }
    const auto conclude = [open = open_](const std::vector<Finished>& finished) {
      open->close();
      return halo_scaling(finished);
    };
    return {std::move(cases_), conclude};
  }

 private:
  void check_ranks() const {
    const std::vector<int>& asked = options_.ranks;
    for (const int ranks : asked) {
      if (ranks <= all_ranks_) continue;
      throw UsageError(fmt::format("--ranks {}: expected at most {}, the devices of {}", ranks,
                                   all_ranks_,
                                   processes_ == nullptr ? machine_.name() : "all processes"));
    }
    if (asked.empty() || std::find(asked.begin(), asked.end(), 1) != asked.end()) return;
    for (const Scaling scaling : options_.scalings) {
      if (scaling == Scaling::none) continue;
      throw UsageError(
          fmt::format("--scaling {}: expected 1 among --ranks, the baseline", name(scaling)));
    }
  }

  std::vector<int> ranks_of(Scaling scaling) const {
    if (!options_.ranks.empty()) return options_.ranks;
    if (scaling == Scaling::none) return {all_ranks_};
    std::vector<int> ranks{1};
    const bool several = processes_ != nullptr;
    for (int next = 2; !several && next < all_ranks_; next *= 2) ranks.push_back(next);
    if (all_ranks_ > 1) ranks.push_back(all_ranks_);
    return ranks;
  }

  void add_grid(std::int64_t nx, std::int64_t ny) {
    for (const Scaling scaling : options_.scalings) {
      for (const int ranks : ranks_of(scaling)) {
        for (const NormMode norm : options_.norms) add_engines(nx, ny, scaling, ranks, norm);
      }
    }
  }

  void add_engines(std::int64_t nx, std::int64_t ny, Scaling scaling, int ranks, NormMode norm) {
    HaloCall call;
    call.scaling = scaling;
    call.ny = ny;
    call.settings.task.grid = {nx, scaling == Scaling::weak ? ny * ranks : ny, ranks};
    call.settings.norm = norm;
    call.settings.graph = options_.graph;
    call.settings.iterations = options_.iterations;
    call.settings.verified = options_.verified;
    require(call.settings.task.grid);
    for (HaloEngine* engine : engines_) {
      for (const bool overlap : options_.overlaps) {
        call.settings.task.overlap = overlap;
        add_case(*engine, call);
      }
    }
  }

  void require(const HaloGrid& grid) const {
    try {
      check(grid);
    } catch (const BadArgument& error) {
      throw UsageError(error.what());
    }
  }

  void add_case(HaloEngine& engine, const HaloCall& call) {
    const CaseId id{"halo", options_.device_name, engine.name(), axes(call)};
    const int ranks = call.settings.task.grid.ranks;
    if (processes_ != nullptr && ranks != 1 && ranks != all_ranks_) {
      cases_.push_back(skipped_case(
          id, fmt::format("with several processes a grid has one rank or all {}", all_ranks_),
          options_.mode));
      return;
    }
    const auto run = [open = open_, &engine, id, call, mode = options_.mode, stop = stop_] {
      OpenTeams::OpenTeam& on = open->team(call.settings.task.grid.ranks);
      try {
        return measure(*open, on, engine, id, call, mode, stop);
      } catch (...) {
        open->close(on, engine);
        throw;
      }
    };
    cases_.push_back({id, run, options_.mode, options_.verified});
  }

  static Measurement measure(OpenTeams& open, OpenTeams::OpenTeam& on, HaloEngine& engine,
                             const CaseId& id, const HaloCall& call, const Mode& mode,
                             const std::function<bool()>& stop) {
    Measurement result;
    result.id = id;
    const HaloSettings& settings = call.settings;
    HaloSession& session = open.session(on, engine);
    result.skipped = session.unsupported(settings.task);
    if (!result.skipped && settings.graph) result.skipped = uncapturable(session, settings);
    if (result.skipped) return result;
    const bool gathers = settings.norm != NormMode::none && settings.task.grid.ranks > 1;
    CollectiveSession* const gather = gathers ? &open.gathers(on, engine) : nullptr;
    HaloWork work(on.team, session, gather, settings);
    result.sampling = Sampler(on.team, stop).measure(work, mode);
    on.team.each([&](Rank& rank) { session.free_retired(rank); });  // fields fill a device
    result.cost = work.cost();
    result.notes.emplace_back("algorithm", work.algorithm());
    result.notes.emplace_back("iterations", std::to_string(settings.iterations));
    return result;
  }

  static std::optional<Skipped> uncapturable(const HaloSession& session,
                                             const HaloSettings& settings) {
    if (settings.norm == NormMode::host) {
      return Skipped{"the host reads the norm of every iteration, which a graph cannot wait for"};
    }
    return session.uncapturable();
  }

  Machine& machine_;
  HaloOptions options_;
  std::function<bool()> stop_;
  Processes* processes_;
  std::shared_ptr<OpenTeams> open_;
  int all_ranks_;
  std::vector<HaloEngine*> engines_;
  std::vector<Case> cases_;
};

}  // namespace

std::vector<std::int64_t> default_halo_sizes(Machine& machine) {
  if (machine.is_virtual()) return {1024};
  if (machine.device(0).info().is_cpu) return {4096};
  return {16384, 20480};
}

Benchmark halo_benchmark(Machine& machine, const HaloOptions& options, std::function<bool()> stop,
                         Processes* processes) {
  return HaloCases(machine, options, std::move(stop), processes).benchmark();
}

}  // namespace duet
