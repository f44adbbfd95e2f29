#include "halo/peer/engines.h"

#include "collectives/own_engines.h"
#include "collectives/session/watchdog.h"
#include "halo/exchange_session.h"
#include "team/nodes.h"

namespace duet {
namespace {

class PeerHaloSession : public ExchangeSession {
 public:
  PeerHaloSession(Team& team, std::unique_ptr<CollectiveSession> exchanges, Executor executor)
      : ExchangeSession(team, std::move(exchanges)),
        executor_(executor),
        mapped_(NodeMap::of(team).nodes() == 1 ||
                (all_mapped(team) && team.network().provider.empty())),
        watchdog_(team) {}

 protected:
  std::unique_ptr<HaloPlan> make_plan(Rank& rank, const HaloTask& task) override {
    if (mapped_ && executor_ == Executor::kernel) {
      if (auto plan = fused_plan(rank, task, watchdog_)) return plan;
    } else if (mapped_ && task.overlap) {
      if (auto plan = fused_copies_plan(rank, task, watchdog_)) return plan;
    }
    return ExchangeSession::make_plan(rank, task);
  }

 private:
  Executor executor_;
  bool mapped_;  // all ranks can map each other's memory, and no rails are asked for
  Watchdog watchdog_;
};

class PeerHaloEngine : public HaloEngine {
 public:
  PeerHaloEngine(std::unique_ptr<CollectiveEngine> engine, Executor executor)
      : engine_(std::move(engine)), executor_(executor) {}
  std::string name() const override { return engine_->name(); }
  std::string device_kind() const override { return ""; }
  std::unique_ptr<HaloSession> open(Team& team) override {
    return std::make_unique<PeerHaloSession>(team, engine_->open(team), executor_);
  }

 private:
  std::unique_ptr<CollectiveEngine> engine_;
  Executor executor_;
};

}  // namespace

std::unique_ptr<HaloEngine> make_dma_halo() {
  return std::make_unique<PeerHaloEngine>(make_dma_collectives(), Executor::dma);
}

std::unique_ptr<HaloEngine> make_kernel_halo() {
  return std::make_unique<PeerHaloEngine>(make_kernel_collectives(), Executor::kernel);
}

}  // namespace duet
