#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "collectives/engine.h"
#include "collectives/nodes/mapped_wire.h"
#include "collectives/nodes/staged_wire.h"
#include "collectives/own_sessions.h"
#include "collectives/schedule/algorithms/node_schedule.h"
#include "collectives/schedule/local_copy.h"
#include "collectives/schedule/schedule_plan.h"
#include "collectives/session/lanes.h"
#include "collectives/session/session_plans.h"
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
    if (!not_reached_.empty() && !goes_by_pushes(collective)) return Skipped{not_reached_};
    switch (collective.kind) {
      case CollectiveKind::all_gather:
      case CollectiveKind::reduce_scatter:
      case CollectiveKind::all_reduce:
      case CollectiveKind::all_to_all:
      case CollectiveKind::all_to_all_v:
      case CollectiveKind::broadcast:
      case CollectiveKind::neighbor_exchange:
        return std::nullopt;
      default:
        return Skipped{fmt::format("ranks of several nodes: {} does not go over nodes so far",
                                   name(collective.kind))};
    }
  }

  void keep_schedules(bool on) override { keeps_schedules_ = on; }

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

  void free_retired(Rank& rank) override {
    rank.team.free_retired(rank);
    if (teams_ == nullptr) return;
    NodeRank own(rank, *teams_, map_);
    own.in_node.team.free_retired(own.in_node);
    own.in_column.team.free_retired(own.in_column);
  }

  std::vector<std::string> take_warnings() override {
    std::vector<std::string> warnings;
    if (!not_chosen_.empty()) warnings.push_back(std::exchange(not_chosen_, ""));
    if (networks_.empty()) return warnings;
    std::vector<std::string> losses;
    for (const auto& network : networks_) {
      for (std::string& loss : network->take_losses()) losses.push_back(std::move(loss));
    }
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
  std::string request(const Rank&, const Collective&, const CollectiveBuffers&) override {
    return choice_text();
  }

  std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>& requests) override {
    expect_same_choice(requests);
    // Replaces lanes that a failure left with work; free_retired() is the barrier after which all
    // ranks have done so.
    SideStreams& lanes =
        lanes_[static_cast<std::size_t>(rank.local)].after(plans_->watchdog().failures());
    free_retired(rank);
    plans_->free_kept();
    AlgorithmInput input{collective, rank.index, rank.size, links_.copying};
    input.kernel_moves = kernel_moves(collective, rank.size);
    input.in_place = in_place(buffers);
    input.aligned_alike = own_part_aligned(collective, rank.index, rank.size, buffers);
    ScheduleSession with{plans_->watchdog(), &lanes};
    with.keeps_schedules = keeps_schedules_;
    with.nodes = &map_;
    auto plan = goes_by_pushes(collective) ? by_pushes(rank, input, buffers, with)
                                           : over_nodes(rank, input, buffers, with);
    return plans_->hand_out(rank, std::move(plan), name(collective.kind));
  }

 private:
  // Whether neighbours of all nodes map each other's memory and no algorithm is chosen.
  bool goes_by_pushes(const Collective& collective) const {
    return mapped_ && collective.kind == CollectiveKind::neighbor_exchange &&
           (chosen_algorithm() == nullptr || teams_ == nullptr);
  }

  // Over a network a signal comes with the chunk that it follows: it takes no second latency, as
  // one to device memory does on simulated machines.
  std::unique_ptr<CollectivePlan> by_pushes(Rank& rank, const AlgorithmInput& input,
                                            const CollectiveBuffers& buffers,
                                            ScheduleSession with) {
    if (rank.team.machine().is_virtual()) with.semaphores = MemoryKind::pinned;
    return std::make_unique<SchedulePlan>(rank, neighbor_pushes().schedule(input), buffers, with);
  }

  std::unique_ptr<CollectivePlan> over_nodes(Rank& rank, AlgorithmInput input,
                                             const CollectiveBuffers& buffers,
                                             ScheduleSession with) {
    NodeRank own(rank, *teams_, map_);
    input.nodes = &map_;
    with.node = &own;
    with.make_wire = [this](NodeRank& each, const WireTraffic& traffic) {
      return make_wire(each, traffic);
    };
    return std::make_unique<SchedulePlan>(own.whole, schedule(input, rank), buffers, with);
  }

  Network& network_of(const Rank& rank) const {
    return *networks_[static_cast<std::size_t>(rank.local)];
  }

  std::string why_not_reached(Team& team) const {
    if (!mapped_) return why_not_over_rails(team, map_);
    const std::string unequal = map_.not_uniform();
    return unequal.empty() ? "" : "ranks of several nodes: " + unequal;
  }

  RankSchedule schedule(const AlgorithmInput& input, const Rank& rank) {
    std::string why_not;
    const Algorithm* const chosen = chosen_algorithm(input, why_not);
    if (!why_not.empty() && rank.local == 0) not_chosen_ = std::move(why_not);
    return schedule_over_nodes(input, chosen);
  }

  bool kernel_moves(const Collective& collective, int ranks) const {
    if (kind_ != OwnEngineKind::fastest) return kind_ == OwnEngineKind::kernel;
    const bool exchanges = collective.kind == CollectiveKind::all_to_all ||
                           collective.kind == CollectiveKind::all_to_all_v;
    const std::uint64_t node_bytes =
        size_bytes(collective, ranks) / static_cast<std::uint64_t>(map_.nodes());
    return node_bytes < (exchanges ? kExchangeFrom : kGatherFrom);
  }

  std::unique_ptr<Wire> make_wire(NodeRank& rank, const WireTraffic& traffic) {
    if (mapped_) return std::make_unique<MappedWire>(rank, traffic, plans_->watchdog());
    return make_rails_wire(rank, traffic, network_of(rank.whole), plans_->watchdog());
  }

  Team& team_;
  OwnEngineKind kind_;
  NodeMap map_;
  bool mapped_;  // messages are copies
  bool keeps_schedules_ = false;
  std::string not_chosen_;   // why the chosen algorithm was not taken, by local rank 0
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
