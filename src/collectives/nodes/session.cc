#include "collectives/nodes/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "collectives/nodes/all_reduce_plan.h"
#include "collectives/nodes/broadcast_plan.h"
#include "collectives/nodes/exchange_plan.h"
#include "collectives/nodes/gather_plan.h"
#include "collectives/nodes/mapped_wire.h"
#include "collectives/nodes/messages.h"
#include "collectives/nodes/staged_wire.h"
#include "collectives/session/rank_lanes.h"
#include "collectives/session/session_memory.h"
#include "collectives/session/team_links.h"
#include "core/deadline.h"
#include "core/packing.h"

namespace duet {
namespace {

// From so many bytes a node on `auto` moves by copy engines. On simulated p5.48xlarge an all_gather
// is as fast by kernels at 160 MiB over 2 nodes, 320 MiB over 4 and 640 MiB over 8; an all_to_all
// is within 3% from 16 MiB a node on, and copy engines leave all compute units to others.
constexpr std::uint64_t kGatherFrom = 80 << 20, kExchangeFrom = 16 << 20;

class NodesSession : public CollectiveSession {
 public:
  NodesSession(Team& team, OwnEngineKind kind, NodeMap map)
      : team_(team),
        kind_(kind),
        map_(std::move(map)),
        mapped_(all_mapped(team) && team.network().provider.empty()),
        not_reached_(why_not_reached(team)),
        links_(team_links(team, not_reached_.empty() ? map_.node_size() : team.size())),
        plans_(std::make_shared<SessionPlans>(team)) {
    if (not_reached_.empty()) teams_ = std::make_unique<NodeTeams>(team, map_);
    if (not_reached_.empty() && !mapped_) networks_ = open_networks(team, map_);
    team.together([&] {
      for (int local = 0; local < team.local_size(); ++local) {
        lanes_.emplace_back(team.local_rank(local).device, links_.copying);
      }
    });
  }

  std::optional<Skipped> unsupported(const Collective& collective, bool) const override {
    if (!not_reached_.empty()) return Skipped{not_reached_};
    switch (collective.kind) {
      case CollectiveKind::all_gather:
      case CollectiveKind::reduce_scatter:
      case CollectiveKind::all_reduce:
      case CollectiveKind::all_to_all:
      case CollectiveKind::broadcast:
        return std::nullopt;
      default:
        return Skipped{fmt::format("ranks of several nodes: {} does not go over nodes so far",
                                   name(collective.kind))};
    }
  }

  bool usable() const override { return all_well(networks_); }

  double network_gbit_per_s(const Rank& rank) const override {
    if (!networks_.empty()) return network_of(rank).gbit_per_s();
    const Machine& machine = team_.machine();
    for (int other = 0; other < machine.size(); ++other) {
      if (other == rank.local) continue;
      const Link link = machine.link(rank.local, other);
      if (link.beyond_node) return 8 * link.gb_per_s;
    }
    return 0;
  }

  std::vector<std::string> take_warnings() override {
    if (networks_.empty()) return {};
    std::vector<std::string> losses;
    for (const auto& network : networks_) {
      for (std::string& loss : network->take_losses()) losses.push_back(std::move(loss));
    }
    std::vector<std::string> warnings;
    for (const std::string& each : team_.processes()->gather_all(
             pack(losses), "all processes to tell which rails they have lost",
             kDefaultDeadlineSeconds)) {
      for (const std::string& loss : unpack(each)) {
        warnings.push_back(loss + "; the other rails took over");
      }
    }
    return warnings;
  }

  std::unique_ptr<CollectiveMemory> allocate(Rank& rank, std::uint64_t bytes) override {
    return std::make_unique<SessionMemory>(plans_, rank.device.allocate(bytes));
  }

 protected:
  std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>&) override {
    NodeRank own(rank, *teams_, map_);
    SideStreams& lanes =
        lanes_[static_cast<std::size_t>(rank.local)].after(plans_->watchdog().failures());
    own.in_node.team.free_retired(own.in_node);
    own.in_column.team.free_retired(own.in_column);
    plans_->free_kept();
    const MoveBy by = moves_by(collective, rank.size);
    return plans_->hand_out(rank, choose(own, collective, buffers, lanes, by),
                            name(collective.kind));
  }

 private:
  Network& network_of(const Rank& rank) const {
    return *networks_[static_cast<std::size_t>(rank.local)];
  }

  std::string why_not_reached(Team& team) const {
    if (!mapped_) return why_not_over_rails(team, map_);
    const std::string unequal = map_.not_uniform();
    return unequal.empty() ? "" : "ranks of several nodes: " + unequal;
  }

  MoveBy moves_by(const Collective& collective, int ranks) const {
    if (kind_ == OwnEngineKind::dma) return MoveBy::copy_engines;
    if (kind_ == OwnEngineKind::kernel) return MoveBy::kernel;
    const bool exchanges = collective.kind == CollectiveKind::all_to_all;
    const std::uint64_t node_bytes =
        size_bytes(collective, ranks) / static_cast<std::uint64_t>(map_.nodes());
    const bool small = node_bytes < (exchanges ? kExchangeFrom : kGatherFrom);
    return small ? MoveBy::kernel : MoveBy::copy_engines;
  }

  std::unique_ptr<CollectivePlan> choose(NodeRank& rank, const Collective& collective,
                                         const CollectiveBuffers& buffers, SideStreams& lanes,
                                         MoveBy by) {
    const auto wire = [this](NodeRank& own, const WireTraffic& traffic) -> std::unique_ptr<Wire> {
      Watchdog& watched = plans_->watchdog();
      if (mapped_) return std::make_unique<MappedWire>(own, traffic, watched);
      return make_rails_wire(own, traffic, network_of(own.whole), watched);
    };
    Watchdog& watchdog = plans_->watchdog();
    switch (collective.kind) {
      case CollectiveKind::all_gather:
        return std::make_unique<GatherPlan>(rank, buffers.send, buffers.recv,
                                            equal_parts(buffers.send.bytes, rank.whole.size), lanes,
                                            by, wire, watchdog);
      case CollectiveKind::all_to_all:
        return std::make_unique<ExchangePlan>(rank, buffers, lanes, by, wire, watchdog,
                                              exchange_for(rank.node_size()));
      case CollectiveKind::broadcast:
        return std::make_unique<NodesBroadcastPlan>(rank, collective, buffers, lanes, by, wire,
                                                    watchdog);
      case CollectiveKind::reduce_scatter:
        return std::make_unique<ScatterPlan>(rank, collective, buffers, lanes, by, wire, watchdog);
      default:
        return std::make_unique<NodesAllReducePlan>(rank, collective, buffers, lanes, by, wire,
                                                    watchdog);
    }
  }

  Team& team_;
  OwnEngineKind kind_;
  NodeMap map_;
  bool mapped_;              // messages are copies
  std::string not_reached_;  // why no plan can be made; "" if plans can
  TeamLinks links_;
  std::unique_ptr<NodeTeams> teams_;
  std::vector<std::unique_ptr<Network>> networks_;  // by local rank; none: mapped_. Outlive plans
  std::shared_ptr<SessionPlans> plans_;
  // By local rank. Destroyed before the plans, whose work they may still have.
  std::vector<RankLanes> lanes_;
};

}  // namespace

std::unique_ptr<CollectiveSession> open_nodes_session(Team& team, OwnEngineKind kind, NodeMap map) {
  return std::make_unique<NodesSession>(team, kind, std::move(map));
}

}  // namespace duet
