#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/engine_registry.h"
#include "core/error.h"
#include "halo/problem.h"
#include "halo/sweep.h"
#include "team/team.h"

namespace duet {

// The arguments of a plan. Equal on all ranks.
struct HaloTask {
  HaloGrid grid;
  bool overlap = false;  // the boundary rows first, their exchange beside the interior
};

// Which neighbour, as this rank sees it.
enum class SideOfRank { above, below };
inline constexpr SideOfRank kSides[] = {SideOfRank::above, SideOfRank::below};

// A rank and its neighbours in the ring. With two ranks both neighbours are the same rank, with one
// they are the rank itself: so data of a neighbour are indexed by its side, never by its number.
struct Ring {
  int index = 0;             // of this rank in the ring
  int above = 0, below = 0;  // ranks of the team
};

// If the grid has one rank and the team several, every rank is a ring by itself, and all measure at
// the same time. Throws BadArgument if the grid's ranks are neither one nor all of the team's.
Ring ring_of(const Rank& rank, const HaloGrid& grid);

// One iteration of a rank.
struct Iteration {
  int parity = 0;  // reads field(parity), writes field(1 - parity) and its halo
  Span partials;   // for partial sums of (new - old)^2; empty: none
  // Whether the call may end before the neighbours' rows have arrived, because the next iteration
  // on the same stream waits for them.
  bool more_follow = false;
  NormOfSweep norm{};  // of a plan that makes norms itself
};

// One rank's part of the iterations, with its two fields. All ranks enqueue the same iterations in
// the same order, with alternating parity. After an iteration without `more_follow`, no rank has
// work under way for another one.
class HaloPlan {
 public:
  virtual ~HaloPlan() = default;
  virtual const FieldShape& shape() const = 0;
  virtual Span field(int parity) const = 0;
  // Whether iterations make norms, over all ranks, themselves. If so, they have no partial sums.
  virtual bool makes_norms() const { return false; }
  virtual std::int64_t partials() const = 0;  // of an iteration
  // Only enqueues, unless host_driven().
  virtual void enqueue(Stream& stream, const Iteration& iteration) = 0;
  // Whether enqueue() waits for the device or for peers.
  virtual bool host_driven() const { return false; }
  virtual std::string algorithm() const = 0;  // for the journal
};

// An engine set up for the ranks of one team; made outside Team::each().
class HaloSession {
 public:
  virtual ~HaloSession() = default;
  // Why this engine cannot run the task; the same on every rank.
  virtual std::optional<Skipped> unsupported(const HaloTask& task) const = 0;
  // Why iterations cannot be captured in a graph.
  virtual std::optional<Skipped> uncapturable() const { return std::nullopt; }
  // As CollectiveSession::usable().
  virtual bool usable() const { return true; }
  // Makes this rank's plan. Collective, inside Team::each(): succeeds on all ranks or throws on
  // all. Fields have no contents yet.
  std::unique_ptr<HaloPlan> plan(Rank& rank, const HaloTask& task);
  // Frees the memory of plans that all ranks have destroyed. Collective, inside Team::each().
  virtual void free_retired(Rank& rank) { rank.team.free_retired(rank); }

 protected:
  virtual std::unique_ptr<HaloPlan> make_plan(Rank& rank, const HaloTask& task) = 0;
};

class HaloEngine {
 public:
  virtual ~HaloEngine() = default;
  virtual std::string name() const = 0;
  virtual std::string device_kind() const = 0;  // "cuda"; "" for any
  // The engine of `duet collective` that gathers the ranks' sums, where plans make no norms.
  virtual std::string gathers_by() const { return "kernel"; }
  // Throws Unavailable where the engine cannot run on this team. Collective among processes; called
  // outside Team::each().
  virtual std::unique_ptr<HaloSession> open(Team& team) = 0;
};

void register_halo_engine(std::unique_ptr<HaloEngine> engine);

// The engines of these names for the machine's devices, in their order; all if `names` is empty.
// Throws UsageError for one that is not there.
std::vector<HaloEngine*> halo_engines(Machine& machine, const std::vector<std::string>& names);

}  // namespace duet
