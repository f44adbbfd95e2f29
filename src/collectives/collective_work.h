// A collective on an engine's session as a Work. Every rank fills its input and runs the call;
// verify() checks every byte.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/engine.h"
#include "device/graph.h"
#include "timing/work.h"

namespace duet {

// Whether calls are captured in a graph. One enqueue then launches the graph `launches` times, and
// every launch makes `calls` calls.
struct GraphUse {
  int launches = 0;  // 0: calls are enqueued as they are
  int calls = 1;
};

class CollectiveWork : public Work {
 public:
  // `verified` = false leaves out the checks, as `-c 0` of nccl-tests does. The team and the
  // session must outlive the work.
  CollectiveWork(Team& team, CollectiveSession& session, const Collective& collective,
                 bool in_place, bool verified = true, const GraphUse& graph = {});

  std::string name() const override { return "collective"; }
  // Wire bytes are what the engine's plans report to leave the ranks; where they report nothing,
  // the least that the collective needs. They are known after prepare().
  Cost cost() const override;
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  // As enqueue(), of plans that are not captured (CollectivePlan::enqueue_observed()).
  void enqueue_observed(Rank& rank, Stream& stream, StepObserver& observer) {
    state(rank).plan->enqueue_observed(stream, observer);
  }
  int calls() const override { return graph_.launches > 0 ? graph_.launches * graph_.calls : 1; }
  // Also where the graphs of one enqueue() may fill a launch queue.
  bool host_driven() const override;
  int most_queued() const override;
  void renew(Rank& rank) override;
  // First checks the result of the last measured iteration, where that iteration had new input
  // (renew()). Then makes kCheckedCalls more calls in a row and checks each:
  // - Before a call the stream fills the input with new contents and poisons all other memory.
  // - After a call the stream copies the result aside. Where these copies would take too much
  //   memory the host checks the result at once.
  // - Ranks do not wait for each other between calls, and a different rank is late each time. This
  //   finds calls that end before their data have arrived, and calls that write to memory which a
  //   peer still reads.
  // - At the end the input must be unchanged (out of place), and so must 256 bytes before and after
  //   each buffer.
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

  // The algorithm that rank 0's plan has chosen; "" before prepare().
  const std::string& algorithm() const { return known_.algorithm; }
  // Of a local rank, after prepare().
  const CollectivePlan& plan(int local) const {
    return *states_[static_cast<std::size_t>(local)].plan;
  }
  // For each rank, the median CPU time of one enqueue() in seconds. Collective among processes;
  // called outside Team::each().
  std::vector<double> enqueue_seconds() const;

 private:
  struct RankState {                                             // of a local rank
    std::unique_ptr<CollectiveMemory> send_memory, recv_memory;  // in place: send_memory is both
    CollectiveBuffers buffers;
    std::vector<Buffer> aside;             // results of checked calls
    std::unique_ptr<CollectivePlan> plan;  // uses the memory: declared after it, freed before
    std::unique_ptr<Graph> graph;          // the measured calls; null: not captured
    std::unique_ptr<Graph> checked;        // one call for verify(); null: `graph` is one call
    std::vector<double> enqueues;          // CPU seconds of each enqueue
    std::uint64_t fills = 0;               // how often the input was filled; each has its own seed
    bool renewed = false;                  // the last iteration had new input
  };
  // Facts about the plans and buffers of all ranks, those of other processes included.
  struct KnownByAllRanks {
    double wire_bytes = 0, busiest_wire_bytes = 0;
    double network_bytes = 0, busiest_network_bytes = 0, link_gbit_per_s = 0;
    bool links_known = true;  // of all ranks
    bool has_contents = true;
    bool host_driven = false;
    std::string algorithm;
    std::uint64_t first_seed = 0;  // this work's seeds begin here
  };

  // The operations of an enqueue() that a launch queue counts; 0: few.
  std::size_t operations() const;
  RankState& state(const Rank& rank) { return states_[static_cast<std::size_t>(rank.local)]; }
  void allocate(Rank& rank, RankState& own);
  static bool has_contents(const Rank& rank, const RankState& own);
  std::uint64_t first_seed() const;
  KnownByAllRanks learn(Rank& rank, const RankState& own) const;
  static KnownByAllRanks known_of(const std::vector<std::string>& all);
  void capture_calls(Rank& rank, RankState& own, Stream& stream);
  void fill(Rank& rank, RankState& own, Stream& stream) const;
  bool repeatable() const;
  std::uint64_t seed_of(std::uint64_t fills) const;  // of rank 0
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
  std::size_t graph_size_ = 0;  // operations, the most of all ranks
};

}  // namespace duet
