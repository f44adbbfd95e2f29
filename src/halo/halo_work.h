// Jacobi iterations with an engine's halo exchange, as a Work.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "collectives/engine.h"
#include "device/graph.h"
#include "halo/engine.h"
#include "halo/norm.h"
#include "timing/work.h"

namespace duet {

struct HaloSettings {
  HaloTask task;
  NormMode norm = NormMode::none;
  bool graph = false;  // an enqueue() launches one graph of all its iterations
  // Of an enqueue(). Even, so that the last one leaves its values where the first one read.
  int iterations = 10;
  bool verified = true;
};

class HaloWork : public Work {
 public:
  // `gathers`: the session by which ranks gather their sums for the norm; may be nullptr with mode
  // none and for grids of one rank. Team and sessions must outlive the work. Throws BadArgument for
  // an odd number of iterations.
  HaloWork(Team& team, HaloSession& session, CollectiveSession* gathers,
           const HaloSettings& settings);

  std::string name() const override { return "halo"; }
  // Of one iteration: each point is read once and written once; the rows above and below come from
  // a cache.
  Cost cost() const override;
  void prepare(Rank& rank, const Placement& placement) override;
  void enqueue(Rank& rank, Stream& stream) override;
  int calls() const override { return settings_.iterations; }
  bool host_driven() const override { return blocks_ || queued() == 0; }
  int most_queued() const override { return std::max(1, queued()); }
  void renew(Rank& rank) override;
  // Checks the iterations since renew(), and then, of several ranks, those of two more enqueue()s
  // from other initial values, before which different ranks are late. This finds halo rows that are
  // read before they have arrived, and written while they are still read.
  std::optional<Skipped> verify(Rank& rank) override;
  void release(Rank& rank) noexcept override;

  const std::string& algorithm() const { return algorithm_; }  // "" before prepare()

 private:
  struct RankState {  // of a local rank
    std::unique_ptr<HaloPlan> plan;
    std::unique_ptr<NormReduction> norm;
    std::unique_ptr<Graph> graph;
    std::uint64_t seed = 0;  // of the last initial values
  };

  RankState& state(const Rank& rank) { return states_[static_cast<std::size_t>(rank.local)]; }
  void set_initial(Rank& rank, RankState& own);
  void iterate(RankState& own, Stream& stream) const;
  void capture_iterations(Rank& rank, RankState& own);
  // How many enqueue()s fit into a launch queue.
  int queued() const;
  void check_late_ranks(Rank& rank, RankState& own);
  void delay(Rank& rank, int call, Stream& stream) const;
  void check(Rank& rank, RankState& own) const;

  Team& team_;
  HaloSession& session_;
  CollectiveSession* gathers_;
  HaloSettings settings_;
  std::vector<RankState> states_;
  bool blocks_ = false;         // an iteration blocks the host
  std::size_t graph_size_ = 0;  // operations, the most of all ranks
  std::string algorithm_;
};

}  // namespace duet
