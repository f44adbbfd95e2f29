// Halo exchange by collectives: a neighbor_exchange in place in each of the two fields, in turns.
#pragma once

#include <memory>

#include "collectives/engine.h"
#include "halo/engine.h"

namespace duet {

// Sweeps and exchanges by an engine's neighbor_exchange. With overlap the boundary rows are swept
// before it, and the others beside it.
class ExchangeSession : public HaloSession {
 public:
  ExchangeSession(Team& team, std::unique_ptr<CollectiveSession> exchanges)
      : ranks_(team.size()), exchanges_(std::move(exchanges)) {}

  std::optional<Skipped> unsupported(const HaloTask& task) const override;
  std::optional<Skipped> uncapturable() const override { return exchanges_->uncapturable(); }
  bool usable() const override { return exchanges_->usable(); }
  void free_retired(Rank& rank) override { exchanges_->free_retired(rank); }

 protected:
  std::unique_ptr<HaloPlan> make_plan(Rank& rank, const HaloTask& task) override;

 private:
  int ranks_;
  std::unique_ptr<CollectiveSession> exchanges_;
};

// The engine of the same name. `engine` must outlive it.
std::unique_ptr<HaloEngine> halo_by(CollectiveEngine& engine);

}  // namespace duet
