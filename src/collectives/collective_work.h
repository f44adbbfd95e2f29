// A collective on an engine's session as a Work: filled, run by all ranks, checked to the byte.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/engine.h"
#include "device/graph.h"
#include "timing/work.h"

namespace duet {

// How calls are captured: an enqueue is so many launches of one graph, and each makes so many
// calls.
struct GraphUse {
  int launches = 0;  // 0: calls are enqueued as they are
  int calls = 1;
};

class CollectiveWork : public Work {
 public:
  // `verified`: false leaves the checks out, as -c 0 of nccl-tests does.
  CollectiveWork(Team& team, CollectiveSession& session, const Collective& collective,
                 bool in_place, bool verified = true, const GraphUse& graph = {});

  std::string name() const override { return "collective"; }
  // Wire bytes: what the engine says leaves its ranks, else the least that must; known after
  // prepare().
  Cost cost() const override;
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  int calls() const override { return graph_.launches > 0 ? graph_.launches * graph_.calls : 1; }
  bool host_driven() const override { return known_.host_driven; }
  void renew(Rank& rank) override;
  // Checks what the last iteration left where it had new input, then kCheckedCalls calls more in a
  // row. Before each its input is filled with new contents and all else poisoned, on the stream;
  // behind each, also on the stream, its results are set aside, or checked at once where memory for
  // that would be large. Ranks do not wait for each other between the calls and are late in turn,
  // so that a call which ends before its data have come, or starts to write while they are still
  // read, is found. Checked too: that its input is as it was, and 256 bytes around both buffers.
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

  // What rank 0's plan chose; "" before prepare().
  const std::string& algorithm() const { return known_.algorithm; }
  // The median time of a call's enqueue on the CPU, a rank each, in seconds. Several processes call
  // it together, outside of Team::each().
  std::vector<double> enqueue_seconds() const;

 private:
  struct RankState {                                             // a local rank's
    std::unique_ptr<CollectiveMemory> send_memory, recv_memory;  // in place: the first is both
    CollectiveBuffers buffers;
    std::vector<Buffer> aside;             // results of checked calls
    std::unique_ptr<CollectivePlan> plan;  // uses the memory: declared after it, freed before
    std::unique_ptr<Graph> graph;          // of the measured calls; null: not captured
    std::unique_ptr<Graph> checked;  // of the one that is verified, where that is not the same
    std::vector<double> enqueues;    // seconds of the CPU's time
    std::uint64_t fills = 0;         // of its input, each with a seed of its own
    bool renewed = false;            // before the last iteration
  };
  // Of all ranks' plans and buffers, also those of other processes.
  struct KnownByAllRanks {
    double wire_bytes = 0, busiest_wire_bytes = 0;
    bool has_contents = true;
    bool host_driven = false;
    std::string algorithm;
    std::uint64_t first_seed = 0;  // of this Work
  };

  RankState& state(const Rank& rank) { return states_[static_cast<std::size_t>(rank.local)]; }
  void allocate(Rank& rank, RankState& own);
  static bool has_contents(const Rank& rank, const RankState& own);
  KnownByAllRanks learn(Rank& rank, const RankState& own) const;
  static KnownByAllRanks known_of(const std::vector<std::string>& all);
  void capture_calls(Rank& rank, RankState& own, Stream& stream) const;
  void fill(Rank& rank, RankState& own, Stream& stream) const;
  bool repeatable() const;
  Fill input(int rank, std::uint64_t fills) const;
  void call_once(RankState& own, Stream& stream) const;
  void delay(const Rank& rank, const RankState& own, int call, Stream& stream) const;
  void allocate_aside(Rank& rank, RankState& own) const;
  void require(Rank& rank, const Span& span, const Fill& fill, const char* what) const;
  void require_results(Rank& rank, const Span& received, std::uint64_t fills) const;
  void require_rest(Rank& rank, const RankState& own) const;
  void require_guards(Rank& rank, const CollectiveMemory& memory, std::uint64_t bytes) const;
  double least_wire_bytes() const;

  Team& team_;
  CollectiveSession& session_;
  Collective collective_;
  bool in_place_;
  bool verified_;
  GraphUse graph_;
  std::vector<RankState> states_;
  KnownByAllRanks known_;
};

}  // namespace duet
