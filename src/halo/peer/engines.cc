#include "halo/peer/engines.h"

#include "collectives/nodes/network.h"
#include "collectives/nodes/staged_wire.h"
#include "collectives/session/watchdog.h"
#include "halo/peer/fused_plan.h"
#include "halo/peer/nodes_plan.h"
#include "halo/peer/pushing_plan.h"
#include "team/nodes.h"

namespace duet {
namespace {

class PeerHaloSession : public HaloSession {
 public:
  PeerHaloSession(Team& team, Executor executor)
      : executor_(executor),
        map_(NodeMap::of(team)),
        mapped_(map_.nodes() == 1 || (all_mapped(team) && team.network().provider.empty())),
        not_reached_(mapped_ ? "" : why_not_over_rails(team, map_)),
        watchdog_(team) {
    if (mapped_ || !not_reached_.empty()) return;
    teams_ = std::make_unique<NodeTeams>(team, map_);
    networks_ = open_networks(team, map_);
  }

  std::optional<Skipped> unsupported(const HaloTask&) const override {
    if (not_reached_.empty()) return std::nullopt;
    return Skipped{not_reached_};
  }

  bool usable() const override { return all_well(networks_); }

  void free_retired(Rank& rank) override {
    if (networks_.empty()) return rank.team.free_retired(rank);
    NodeRank own(rank, *teams_, map_);
    own.in_node.team.free_retired(own.in_node);
  }

 protected:
  std::unique_ptr<HaloPlan> make_plan(Rank& rank, const HaloTask& task) override {
    if (!networks_.empty()) return over_rails(rank, task);
    if (executor_ == Executor::kernel) {
      if (auto plan = fused_plan(rank, task, watchdog_)) return plan;
    } else if (task.overlap) {
      if (auto plan = fused_copies_plan(rank, task, watchdog_)) return plan;
    }
    // Over a network a signal comes with the row that it follows: it takes no second latency, as
    // one to pinned memory does on simulated machines.
    const MemoryKind semaphores = map_.nodes() > 1 ? MemoryKind::pinned : MemoryKind::device;
    return std::make_unique<PushingPlan>(rank, task, executor_, watchdog_, semaphores);
  }

 private:
  std::unique_ptr<HaloPlan> over_rails(Rank& rank, const HaloTask& task) {
    NodeRank own(rank, *teams_, map_);
    const auto wire = [this](NodeRank& of, const WireTraffic& traffic) {
      return make_rails_wire(of, traffic, *networks_[static_cast<std::size_t>(of.whole.local)],
                             watchdog_);
    };
    return std::make_unique<NodesPlan>(own, task, executor_, wire, watchdog_);
  }

  Executor executor_;
  NodeMap map_;
  // Devices that can map each other's memory reach each other, those of a simulated machine's other
  // nodes as well: its network takes kernels' writes as it does copies.
  bool mapped_;
  std::string not_reached_;  // why no plan can be made; "" if plans can
  std::unique_ptr<NodeTeams> teams_;
  std::vector<std::unique_ptr<Network>> networks_;  // by local rank; none: mapped_. Outlive plans
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
