#include "halo/peer/engines.h"

#include "collectives/peer/watchdog.h"
#include "halo/peer/fused_plan.h"
#include "halo/peer/pushing_plan.h"
#include "team/nodes.h"

namespace duet {
namespace {

class PeerHaloSession : public HaloSession {
 public:
  PeerHaloSession(Team& team, Executor executor)
      : executor_(executor),
        several_nodes_(NodeMap::of(team).nodes() > 1),
        reached_(!several_nodes_ || team.processes() == nullptr),
        watchdog_(team) {}

  std::optional<Skipped> unsupported(const HaloTask& task) const override {
    if (reached_ || task.grid.ranks == 1) return std::nullopt;
    return Skipped{
        "ranks of several nodes: its kernels and copy engines reach devices of one node only"};
  }

 protected:
  std::unique_ptr<HaloPlan> make_plan(Rank& rank, const HaloTask& task) override {
    rank.team.free_retired(rank);  // memory of earlier plans
    if (executor_ == Executor::kernel) {
      if (auto plan = fused_plan(rank, task, watchdog_)) return plan;
    }
    // Over a network a signal comes with the row that it follows: it takes no second latency, as
    // one to pinned memory does on simulated machines.
    const MemoryKind semaphores = several_nodes_ ? MemoryKind::pinned : MemoryKind::device;
    return std::make_unique<PushingPlan>(rank, task, executor_, watchdog_, semaphores);
  }

 private:
  Executor executor_;
  bool several_nodes_;
  // Devices of one process reach each other, those of a simulated machine's other nodes as well:
  // its network takes kernels' writes as it does copies.
  bool reached_;
  Watchdog watchdog_;
};

class PeerHaloEngine : public HaloEngine {
 public:
  explicit PeerHaloEngine(Executor executor) : executor_(executor) {}
  std::string name() const override { return duet::name(executor_); }
  std::string device_kind() const override { return ""; }
  std::unique_ptr<HaloSession> open(Team& team) override {
    return std::make_unique<PeerHaloSession>(team, executor_);
  }

 private:
  Executor executor_;
};

}  // namespace

std::unique_ptr<HaloEngine> make_dma_halo() {
  return std::make_unique<PeerHaloEngine>(Executor::dma);
}

std::unique_ptr<HaloEngine> make_kernel_halo() {
  return std::make_unique<PeerHaloEngine>(Executor::kernel);
}

}  // namespace duet
