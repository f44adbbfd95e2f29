#include "team/nodes.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "team/peer_memory.h"
#include "team/processes_fixture.h"

namespace duet {
namespace {

using Texts = std::vector<std::string>;

TEST(NodeMap, SimulatedNodesAreThePlatforms) {
  const auto machine = open_machine("sim:p5-48xlarge:nodes=3");
  Team team(*machine);
  const NodeMap map = NodeMap::of(team);
  EXPECT_EQ(map.size(), 24);
  EXPECT_EQ(map.nodes(), 3);
  EXPECT_EQ(map.node_size(), 8);
  EXPECT_EQ(map.node(7), 0);
  EXPECT_EQ(map.node(8), 1);
  EXPECT_EQ(map.local(17), 1);
  EXPECT_EQ(map.rank(2, 1), 17);
  EXPECT_EQ((*map.by_column())[1], std::vector<int>({1, 9, 17}));
}

// A team may have only some of the devices, and in another order.
TEST(NodeMap, GoesByDevicesAndNotByNumbers) {
  const auto machine = open_machine("sim:p5-48xlarge:nodes=2");
  Team team(*machine, {9, 0, 12, 3});
  const NodeMap map = NodeMap::of(team);
  EXPECT_EQ(*map.by_node(), TeamGroups({{0, 2}, {1, 3}}));
  EXPECT_EQ(*map.by_column(), TeamGroups({{0, 1}, {2, 3}}));
}

TEST(NodeMap, OneMachineIsOneNode) {
  const auto machine = open_machine("host:3");
  Team team(*machine);
  EXPECT_EQ(NodeMap::of(team).nodes(), 1);
  EXPECT_EQ(NodeMap::of(team).node_size(), 3);
}

TEST(NodeMap, TakesConsecutiveRanksForANode) {
  const auto machine = open_machine("host:5");
  Team team(*machine);
  team.set_node_size(2);
  const NodeMap map = NodeMap::of(team);
  EXPECT_EQ(*map.by_node(), TeamGroups({{0, 1}, {2, 3}, {4}}));
  EXPECT_EQ(map.not_uniform(), "node 0 has 2 ranks and node 2 has 1: expected as many on each");
  EXPECT_THROW(map.node_size(), Unavailable);
}

TEST(NodeMap, ProcessesOfOneMachineAreOneNode) {
  run_processes(3, [](Processes& processes) {
    const auto machine = open_machine(processes.index() == 1 ? "host:2" : "host");
    Team team(*machine, {}, &processes);
    EXPECT_EQ(*NodeMap::of(team).by_node(), TeamGroups({{0, 1, 2, 3}}));
    team.set_node_size(2);
    EXPECT_EQ(*NodeMap::of(team).by_node(), TeamGroups({{0, 1}, {2, 3}}));
  });
}

// What every rank gathers in its group, on nodes whose ranks are not consecutive.
void expect_groups(Team& team, const NodeTeams& teams) {
  team.each([&](Rank& rank) {
    const int half = rank.index % 2;  // of four ranks, 0 and 2 are node 0
    Rank in_node = teams.in_node(rank), in_column = teams.in_column(rank);
    EXPECT_EQ(in_node.index, rank.index / 2);
    EXPECT_EQ(in_column.index, half);
    EXPECT_EQ(in_node.size, 2);
    EXPECT_EQ(&in_node.device, &rank.device);
    EXPECT_EQ(in_node.team.parent_rank(0), half);
    EXPECT_EQ(in_node.team.parent_rank(1), 2 + half);
    for (int round = 0; round < 3; ++round) {
      const std::string mine = std::to_string(rank.index);
      EXPECT_EQ(*in_node.team.gather(in_node, mine, "a node's ranks", 20),
                Texts({std::to_string(half), std::to_string(2 + half)}));
      EXPECT_EQ(
          *in_column.team.gather(in_column, mine, "a column's ranks", 20),
          Texts({std::to_string(rank.index / 2 * 2), std::to_string(rank.index / 2 * 2 + 1)}));
      in_node.team.barrier("all nodes' ranks", 20);
    }
  });
}

const NodeMap& cyclic() {
  static const NodeMap map(TeamGroups{{0, 2}, {1, 3}});
  return map;
}

class ChildTeams : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Machine> machine_ = open_machine(GetParam());
  Team team_{*machine_, {0, 1, 2, 3}};
  NodeTeams teams_{team_, cyclic()};
};

TEST_P(ChildTeams, GatherWithinTheirGroups) { expect_groups(team_, teams_); }

TEST_P(ChildTeams, ShareTheMemoryOfTheirRanks) {
  std::vector<Buffer> buffers;
  for (int rank = 0; rank < 4; ++rank) {
    buffers.push_back(team_.device(rank).allocate(64 + static_cast<std::uint64_t>(rank)));
  }
  team_.each([&](Rank& rank) {
    Rank in_node = teams_.in_node(rank);
    const Buffer& own = buffers[static_cast<std::size_t>(rank.index)];
    const PeerMemory all(in_node, own.span(), "a node's memory", 20);
    ASSERT_EQ(all.size(), 2);
    for (int local = 0; local < 2; ++local) {
      const int owner = cyclic().rank(rank.index % 2, local);
      EXPECT_EQ(all.at(local).data, buffers[static_cast<std::size_t>(owner)].span().data);
    }
    team_.barrier("all to have looked", 20);
  });
}

// Else the other group would go on, into a call that this one never makes.
TEST_P(ChildTeams, AnErrorInOneGroupIsThatOfAllRanks) {
  Texts texts(4);
  team_.each([&](Rank& rank) {
    Rank in_node = teams_.in_node(rank);
    try {
      in_node.team.all_or_none(in_node, "a step", [&] {
        if (rank.index == 3) throw OutOfMemory("no room");
      });
    } catch (const OutOfMemory& error) {
      texts[static_cast<std::size_t>(rank.index)] = error.what();
    }
    EXPECT_EQ(in_node.team.first_reason(in_node, rank.index > 1 ? "no" : "", "reasons", 20), "no");
    const auto refuse_3 = [](const std::vector<std::string>& all) -> int {
      if (all.back() == "3") throw Mismatch("unread");
      return 0;
    };
    EXPECT_THROW(in_node.team.gather_as<int>(in_node, std::to_string(rank.index), "a refused text",
                                             refuse_3, 20),
                 Mismatch);
    team_.barrier("all to go on", 20);
  });
  EXPECT_EQ(texts, Texts({"rank 3: no room", "rank 3: no room", "rank 3: no room", "no room"}));
}

TEST_P(ChildTeams, AGroupsCallIsNotTheWholeTeams) {
  team_.each([&](Rank& rank) {
    Rank in_node = teams_.in_node(rank);
    Rank& caller = rank.index == 2 ? rank : in_node;
    EXPECT_THROW(caller.team.gather(caller, "", "texts", 20), BadArgument);
    team_.barrier("all to go on", 20);
  });
  Team child(team_, cyclic().by_node(), 0);
  EXPECT_THROW(child.each([](Rank&) {}), BadArgument);
}

INSTANTIATE_TEST_SUITE_P(Machines, ChildTeams, ::testing::Values("host:4", "sim:mi300x-8"),
                         [](const auto& machine) { return machine.index == 0 ? "host" : "sim"; });

TEST(ChildTeams, OfSeveralProcesses) {
  run_processes(4, [](Processes& processes) {
    const auto machine = open_machine("host");
    Team team(*machine, {}, &processes);
    expect_groups(team, NodeTeams(team, cyclic()));
  });
}

// Processes of two ranks each, whose ranks are of different nodes.
TEST(ChildTeams, OfProcessesWithSeveralRanks) {
  run_processes(2, [](Processes& processes) {
    const auto machine = open_machine("host:2");
    Team team(*machine, {}, &processes);
    const NodeTeams teams(team, cyclic());
    expect_groups(team, teams);
    EXPECT_EQ(teams.in_node(team.local_rank(1)).team.first_local(), processes.index());
    // One child after the other, while the other process does the same.
    const std::string mine = std::to_string(processes.index());
    for (int local = 0; local < 2; ++local) {
      Team& child = teams.in_node(team.local_rank(local)).team;
      EXPECT_EQ(child.texts_of_ranks({mine}, "the nodes' processes"), Texts({"0", "1"}));
      EXPECT_EQ(NodeMap::of(child).nodes(), 1);
    }
    team.set_node_size(2);
    EXPECT_EQ(NodeMap::of(teams.in_node(team.local_rank(0)).team).nodes(), 2);
  });
}

}  // namespace
}  // namespace duet
