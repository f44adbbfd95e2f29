// For tests over rails: processes that are threads of this one, each a node.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/nodes/fabric_wire.h"
#include "collectives/own_engines.h"
#include "core/error.h"
#include "core/message_fixture.h"
#include "fabric/library.h"
#include "team/processes_fixture.h"

namespace duet {

// Why there are no rails of the provider here; "" if there are.
inline std::string why_no_rails(const std::string& provider) {
  return message_of<Error>([&] { fabric_library().rails(provider); });
}

// Runs fn as so many nodes, each with a session of the engine dma. What it throws is a failure.
// Each stream takes `queue` copies at a time, 0: any number.
inline void on_rails(int nodes, const NetworkOptions& network,
                     const std::function<void(Team&, CollectiveSession&)>& fn,
                     int ranks_of_node = 1, int queue = 0) {
  std::string device = "host:" + std::to_string(ranks_of_node);
  if (queue > 0) device += ":queue=" + std::to_string(queue);
  run_processes(nodes, [&](Processes& processes) {
    const auto machine = open_machine(device);
    Team team(*machine, {}, &processes);
    team.set_node_size(ranks_of_node);
    team.set_network(network);
    try {
      fn(team, *make_dma_collectives()->open(team));
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  });
}

// Wires that a test makes itself, on networks of its own.
class OwnWires {
 public:
  explicit OwnWires(Team& team) : team_(team), networks_(open_networks(team, map_)) {}

  NodeRank rank_of(Rank& rank) { return {rank, teams_, map_}; }
  template <typename Made = FabricWire>
  std::unique_ptr<Made> make(NodeRank& rank, const WireTraffic& traffic) {
    return std::make_unique<Made>(rank, traffic, *networks_[0], watchdog_);
  }

 private:
  Team& team_;
  NodeMap map_ = NodeMap::of(team_);
  NodeTeams teams_{team_, map_};
  std::vector<std::unique_ptr<Network>> networks_;
  Watchdog watchdog_{team_};
};

}  // namespace duet
