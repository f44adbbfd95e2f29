#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/call_rows.h"
#include "collectives/collective.h"
#include "collectives/memory.h"
#include "core/engine_registry.h"
#include "core/error.h"
#include "device/collective_kernel.h"
#include "team/team.h"

namespace duet {

struct RankSchedule;
class SideStreams;

// Whether the send and the receive buffer overlap.
bool in_place(const CollectiveBuffers& buffers);

// What a kernel of the rank's device normalises.
RowNorm row_norm(const SumNorm& norm, const CollectiveBuffers& buffers);

// What the caller of a neighbor_exchange computes in a call, on the stream that it is given.
struct CallCompute {
  std::function<void(Stream&)> before;  // makes what is sent
  // Needs nothing that arrives, and leaves alone what is sent. Empty where the plan was made
  // without Neighbors::computes_beside.
  std::function<void(Stream&)> beside;
};

// Told of each step of a call while it is enqueued.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // Before the step, which goes to `stream`, and behind it. Lane 0 is the caller's stream.
  virtual void begins(Stream& stream, int lane, const std::string& what) = 0;
  virtual void ends(Stream& stream) = 0;
};

// One rank's part of a collective, bound to fixed buffers. The buffers must outlive the plan.
class CollectivePlan {
 public:
  virtual ~CollectivePlan() = default;
  // Only enqueues, also on a stream that is captured: never blocks, allocates or takes a lock that
  // another rank may hold. All ranks enqueue a session's plans in the same order.
  virtual void enqueue(Stream& stream) = 0;
  // Likewise a neighbor_exchange with the caller's compute. The call may write the receive buffer
  // from its begin on. `side` has a lane for plans that know of no compute.
  virtual void enqueue_beside(Stream& stream, SideStreams& side, const CallCompute& compute);
  // Likewise a collective with MatrixRows: `multiply` is called, once or for several ranges, none
  // of them empty, that together are all rows, in any order; each is enqueued on `stream` when what
  // it needs has arrived. Any rank may write to this one's buffers from the call's begin on.
  // enqueue() of such a plan is the same without multiplications. Of other plans: throws
  // BadArgument.
  virtual void enqueue_rows(Stream& stream, const MultiplyRows& multiply);
  // Whether other ranks do without the addresses of this rank's buffers, so that enqueue_at() may
  // be called. The same on all ranks.
  virtual bool takes_buffers() const { return false; }
  // As enqueue(), with other buffers in place of the plan's, in this call alone: only this rank
  // need know of them. They are of the rank's device, overlap as the plan's may or not at all, and
  // live as long as a launch or graph uses them. Throws BadArgument for a plan that cannot, a
  // missing buffer and one that is not aligned as the plan needs; then nothing is enqueued.
  virtual void enqueue_at(Stream& stream, const BufferAddresses& buffers);
  // As enqueue(), and tells of the steps, where the session keeps schedules and the plan is one;
  // else of the whole call as one step.
  virtual void enqueue_observed(Stream& stream, StepObserver& observer);
  // Whether enqueue_rows() multiplies between the collective's steps.
  virtual bool multiplies_rows() const { return false; }
  // Whether enqueue() does what a SumNorm says. CollectiveSession::plan() adds it to plans that sum
  // alone.
  virtual bool normalises() const { return false; }
  virtual std::string algorithm() const { return ""; }  // the chosen algorithm, for the journal
  // Overwrites the plan's staging memory, so that verification cannot pass on stale contents of
  // earlier calls. Blocking. The caller makes sure that no rank is in a call.
  virtual void poison_staging() {}
  // What the rank enqueues, where the session keeps schedules and the plan is one; else nullptr.
  virtual const RankSchedule* schedule() const { return nullptr; }
  // Bytes that leave this rank over a wire in one call; 0: not known.
  virtual double wire_bytes() const { return 0; }
  // Those of them that leave the node; 0: none, or not known.
  virtual double network_bytes() const { return 0; }
  // Whether enqueue() blocks until the peers have done their part. If so, the sampler cannot use
  // the start gate.
  virtual bool host_driven() const { return false; }
};

// An engine set up for the ranks of one team. A session is made outside Team::each(). Its functions
// that take a Rank are called inside Team::each().
class CollectiveSession {
 public:
  virtual ~CollectiveSession() = default;
  // The reason why this engine cannot run the collective; empty if it can. The same on every rank.
  virtual std::optional<Skipped> unsupported(const Collective& collective, bool in_place) const = 0;
  // Frees the memory of plans that all ranks have destroyed. Collective, inside Team::each().
  virtual void free_retired(Rank& rank) { rank.team.free_retired(rank); }
  // The reason why calls cannot be captured in a graph; empty if they can.
  virtual std::optional<Skipped> uncapturable() const { return std::nullopt; }
  // False once a rank has failed in a way that later plans would not survive: the caller then opens
  // another session. The same in all processes. Called outside Team::each().
  virtual bool usable() const { return true; }
  // This rank's share of the nominal rate of the links by which its node's plans reach other nodes,
  // in Gbit/s, one direction; 0: none, or unknown.
  virtual double network_gbit_per_s(const Rank&) const { return 0; }
  // Failures that calls have survived since the last call of this function, such as lost rails, as
  // warnings for the record. Collective among processes; called outside Team::each().
  virtual std::vector<std::string> take_warnings() { return {}; }
  // Memory for a buffer of this engine's plans: plain device memory by default. May be a collective
  // call, so all ranks call it equally often.
  virtual std::unique_ptr<CollectiveMemory> allocate(Rank& rank, std::uint64_t bytes);
  // Whether the plans that this rank makes from now on may share staging memory. No two of them may
  // be under way at the same time, so each rank enqueues them on one stream. All ranks switch it
  // before the same plan; it is off at first. See SharedStaging.
  virtual void share_staging(const Rank&, bool) {}
  // Whether plans that are made from now on keep their schedules, which are long for large
  // collectives. Off at first; called outside Team::each().
  virtual void keep_schedules(bool) {}
  // Makes this rank's plan. Collective: every rank makes the same call, which may block. It
  // succeeds on all ranks or throws on all, as Team::all_or_none() does; after an error all may
  // plan again.
  // - BadArgument: the ranks ask for different collectives, a buffer is too small or of another
  //   device, or send and receive buffer overlap but are not in place as collective.h defines it.
  // - Unavailable: unsupported() gives a reason.
  std::unique_ptr<CollectivePlan> plan(Rank& rank, const Collective& collective,
                                       const CollectiveBuffers& buffers);

 protected:
  // Bytes that this rank shares with all ranks before any rank makes its plan; make_plan() receives
  // them from all ranks. The buffers are checked and cut to what the collective uses.
  virtual std::string request(const Rank&, const Collective&, const CollectiveBuffers&) {
    return "";
  }
  // Makes this rank's plan. `requests` has request() of all ranks, by rank. Collective: the call
  // may contain barriers and gathers. An error on one rank is thrown on all ranks.
  virtual std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                                    const CollectiveBuffers& buffers,
                                                    const std::vector<std::string>& requests) = 0;
};

// While it lives, the plans that a rank makes share staging memory.
class SharedStaging {
 public:
  SharedStaging(CollectiveSession& session, const Rank& rank) : session_(session), rank_(rank) {
    session_.share_staging(rank_, true);
  }
  ~SharedStaging() { session_.share_staging(rank_, false); }
  SharedStaging(const SharedStaging&) = delete;
  SharedStaging& operator=(const SharedStaging&) = delete;

 private:
  CollectiveSession& session_;
  const Rank& rank_;
};

// The default size in bytes of a packet, for engines that put in packets.
inline constexpr std::uint64_t kDefaultPacket = 64 << 10;

// An implementation of collectives: Duet's own or another library's.
class CollectiveEngine {
 public:
  virtual ~CollectiveEngine() = default;
  virtual std::string name() const = 0;         // "dma", "nccl", "nccl-zero-cta", "mpi"
  virtual std::string device_kind() const = 0;  // "cuda"; "" for any
  // The same engine with kernels of at most this many compute units. Its name states the limit.
  // nullptr if the engine's kernels cannot be limited.
  virtual std::unique_ptr<CollectiveEngine> limited(int) const { return nullptr; }
  // The same engine with puts of at most this many bytes each. Its name states them. nullptr where
  // the engine does not put this kind in packets.
  virtual std::unique_ptr<CollectiveEngine> with_packets(CollectiveKind, std::uint64_t) const {
    return nullptr;
  }
  // Throws UsageError for invalid user settings of the engine (such as a damaged tuning file).
  // Called before anything is measured, by all processes, outside Team::each().
  virtual void check_settings(Team&) const {}
  // Opens a session. Throws Unavailable where the engine cannot run on this team. Collective among
  // processes; called outside Team::each(), which implementations may use. A step that may fail in
  // one process alone belongs into each() or together().
  virtual std::unique_ptr<CollectiveSession> open(Team& team) = 0;
  // Whether open() takes a child team too, on which it must not use each(); a process may then open
  // several of them, one after the other, while others open theirs.
  virtual bool opens_for_groups() const { return false; }
};

// The modules that bring engines for a kind of device.
const std::vector<EngineModule>& collective_modules();

void register_collective_engine(std::unique_ptr<CollectiveEngine> engine);

// Those for a kind of device that have registered so far.
std::vector<CollectiveEngine*> registered_collective_engines(const std::string& device_kind);

// The engines for a kind of device, and the modules that could not be loaded.
// EngineRegistry::find() documents which modules are loaded.
using CollectiveEngines = FoundEngines<CollectiveEngine>;
CollectiveEngines collective_engines(const std::string& device_kind,
                                     const std::vector<std::string>& wanted = {});

// The machine's engines of these names, in their order; all of them if `names` is empty. Throws
// UsageError for a name that it does not have, where it has no engine, and where ranks share a
// device.
std::vector<CollectiveEngine*> engines_named(Machine& machine,
                                             const std::vector<std::string>& names);

// What programs use that choose no engine: the vendor's library with its defaults where it is
// there, else what every device has.
std::string usual_engine(const std::string& device_kind);

}  // namespace duet
