// A collective engine: whose implementation runs a collective. Duet's own and its peers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/collective.h"
#include "collectives/memory.h"
#include "core/engine_registry.h"
#include "core/error.h"
#include "team/team.h"

namespace duet {

struct CollectiveBuffers {
  Span send, recv;
};

// One rank's part of a collective, bound to its buffers, which must outlive it.
class CollectivePlan {
 public:
  virtual ~CollectivePlan() = default;
  // Only enqueues, also on a stream that is captured: never blocks, allocates or takes a lock that
  // another rank may hold. All ranks enqueue a session's plans in the same order.
  virtual void enqueue(Stream& stream) = 0;
  virtual std::string algorithm() const { return ""; }  // what was chosen, for the journal
  // Blocking, while no rank is in a call: overwrites what earlier calls have left in staging memory
  // of the plan's own, for checks that stale contents must not pass.
  virtual void poison_staging() {}
  // Bytes that really leave this rank over a wire in one call; 0: not known.
  virtual double wire_bytes() const { return 0; }
  // Does enqueue() block until peers have done their part? The start gate then holds nothing.
  virtual bool host_driven() const { return false; }
};

// An engine set up for the ranks of one team. Made outside Team::each(); the calls with a Rank are
// made inside of it.
class CollectiveSession {
 public:
  virtual ~CollectiveSession() = default;
  // Why this engine cannot run the collective, if so; the same on every rank.
  virtual std::optional<Skipped> unsupported(const Collective& collective, bool in_place) const = 0;
  // Why its calls cannot be captured and launched again, if so.
  virtual std::optional<Skipped> uncapturable() const { return std::nullopt; }
  // Can it make plans that work? Not for ever after a failure of any rank; then another is opened.
  // The same in all processes, outside of Team::each().
  virtual bool usable() const { return true; }
  // Plain device memory, unless the engine wants another kind.
  virtual std::unique_ptr<CollectiveMemory> allocate(Rank& rank, std::uint64_t bytes);
  // Collective: every rank makes the same call, which may block. It succeeds on all ranks or throws
  // on all, as Team::all_or_none() does, and all may then plan again: BadArgument where the ranks
  // ask for different things, where a buffer is too small or of another device, and where send and
  // receive overlap otherwise than in place (collective.h); Unavailable for what unsupported()
  // says.
  std::unique_ptr<CollectivePlan> plan(Rank& rank, const Collective& collective,
                                       const CollectiveBuffers& buffers);

 protected:
  // What a rank brings to a plan beside the collective, for all ranks to know before any of them
  // makes its own. The buffers are checked, and hold no more than the collective uses of them.
  virtual std::string request(const Rank&, const Collective&, const CollectiveBuffers&) {
    return "";
  }
  // The rank's own plan, with all ranks' requests. It may meet the others, and what it throws on
  // one rank is thrown on all.
  virtual std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                                    const CollectiveBuffers& buffers,
                                                    const std::vector<std::string>& requests) = 0;
};

class CollectiveEngine {
 public:
  virtual ~CollectiveEngine() = default;
  virtual std::string name() const = 0;         // "dma", "nccl", "nccl-zero-cta", "mpi"
  virtual std::string device_kind() const = 0;  // "cuda"; "" for any
  // The same with kernels of at most so many compute units, under a name that says so; nullptr
  // where they cannot be bounded.
  virtual std::unique_ptr<CollectiveEngine> limited(int) const { return nullptr; }
  // Throws UsageError where what the user has set for the engine cannot be understood: asked before
  // anything is measured, by all processes, outside of Team::each().
  virtual void check_settings(Team&) const {}
  // Throws Unavailable where it cannot run on this team. May use Team::each(). With several
  // processes all make the call; what may fail in one alone belongs into each() or together().
  virtual std::unique_ptr<CollectiveSession> open(Team& team) = 0;
};

void register_collective_engine(std::unique_ptr<CollectiveEngine> engine);

// The engines for a kind of device, and the modules that could not be loaded;
// EngineRegistry::find() says which modules are.
using CollectiveEngines = FoundEngines<CollectiveEngine>;
CollectiveEngines collective_engines(const std::string& device_kind,
                                     const std::vector<std::string>& wanted = {});

}  // namespace duet
