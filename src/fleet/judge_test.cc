#include "fleet/judge.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fleet/fleet_fixture.h"

namespace duet {
namespace {

// "node3 cuda:1", "link node3 cuda:0 - node3 cuda:1", ... of a suspect.
std::string place_of(const FleetSuspect& one, const FleetSamples& samples) {
  const auto item = static_cast<std::size_t>(one.item);
  switch (one.level) {
    case FleetLevel::group:
      return "group " + std::to_string(one.item);
    case FleetLevel::node:
      return samples.nodes()[item];
    case FleetLevel::unit:
      return samples.unit_text(one.item);
    case FleetLevel::unit_out:
      return "from " + samples.unit_text(one.item);
    case FleetLevel::unit_in:
      return "to " + samples.unit_text(one.item);
    case FleetLevel::link:
    case FleetLevel::direction:
      break;
  }
  std::string text;
  const bool link = one.level == FleetLevel::link;
  for (const int unit : link ? samples.links()[item] : samples.places()[item].units) {
    text += (text.empty() ? "" : link ? " - " : " > ") + samples.unit_text(unit);
  }
  return text;
}

std::vector<std::string> places_of(const FleetJudgement& judged, const FleetSamples& samples) {
  std::vector<std::string> places;
  for (const FleetSuspect& one : judged.suspects) places.push_back(place_of(one, samples));
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<std::string> suspects(const SimulatedFleet& fleet,
                                  const std::vector<FleetGroup>& groups = {}) {
  const FleetSamples samples = simulated(fleet);
  return places_of(judge_fleet(samples, groups), samples);
}

using Places = std::vector<std::string>;

bool is_gpu(const SimulatedPlace& place, int node, int gpu) {
  return (place.node == node && place.gpu == gpu) ||
         (place.other_node == node && place.other_gpu == gpu);
}

bool is_of(const SimulatedPlace& place, int node) {
  return place.node == node || place.other_node == node;
}

// In how many of `runs` fleets exactly `wanted` was found, and how many others were.
struct Score {
  int found = 0, others = 0;
};

Score score(SimulatedFleet fleet, int runs, const std::string& wanted) {
  Score score;
  for (int run = 0; run < runs; ++run) {
    fleet.seed = static_cast<std::uint64_t>(1000 + run);
    const Places places = suspects(fleet);
    const auto named = std::count(places.begin(), places.end(), wanted);
    score.found += named > 0 ? 1 : 0;
    score.others += static_cast<int>(static_cast<long>(places.size()) - named);
  }
  return score;
}

TEST(Fleet, NoiseAloneMakesNoSuspect) {
  SimulatedFleet fleet;
  const Score few = score(fleet, 20, "");
  EXPECT_LE(few.others, 2) << "of 20 fleets: 5% of them may have one";
  fleet.nodes = 5;
  fleet.noise = 0.03;
  EXPECT_LE(score(fleet, 40, "").others, 4);
}

TEST(Fleet, ASlowLinkOfFourThousandIsNamed) {
  SimulatedFleet fleet;
  fleet.nodes = 147;  // 4,116 links
  fleet.fault = [](const SimulatedPlace& place) {
    const bool link = is_gpu(place, 77, 2) && is_gpu(place, 77, 5);
    return place.kind == "copy peer" && link ? 0.1 : 0;
  };
  const Score one = score(fleet, 8, "node77 cuda:2 - node77 cuda:5");
  EXPECT_EQ(one.found, 8);
  EXPECT_LE(one.others, 1);
}

TEST(Fleet, AHotGpuIsNamedAndNotItsNode) {
  SimulatedFleet fleet;
  fleet.fault = [](const SimulatedPlace& place) {
    if (place.kind == "gemm") return is_gpu(place, 9, 3) ? 0.08 : 0;
    return place.kind.substr(0, 10) == "collective" && place.node == 9 ? 0.08 : 0;
  };
  const Score one = score(fleet, 10, "node9 cuda:3");
  EXPECT_EQ(one.found, 10);
  EXPECT_LE(one.others, 1) << "its collectives follow from it";
}

TEST(Fleet, AGpuOfWhichAllCopiesAreSlowIsNamedAndNotItsLinks) {
  SimulatedFleet fleet;
  fleet.fault = [](const SimulatedPlace& place) {
    return place.kind == "copy peer" && is_gpu(place, 4, 6) ? 0.15 : 0;
  };
  EXPECT_EQ(suspects(fleet), Places{"node4 cuda:6"});
  fleet.fault = [](const SimulatedPlace& place) {
    return place.kind == "copy peer" && place.node == 4 && place.gpu == 6 ? 0.15 : 0;
  };
  EXPECT_EQ(suspects(fleet), Places{"from node4 cuda:6"});
  fleet.fault = [](const SimulatedPlace& place) {
    return place.kind == "copy peer" && place.node == 4 && place.gpu == 6 && place.other_gpu == 1
               ? 0.15
               : 0;
  };
  EXPECT_EQ(suspects(fleet), Places{"node4 cuda:6 > node4 cuda:1"});
}

TEST(Fleet, ASettingOfATenthOfTheNodesMakesThemSuspects) {
  SimulatedFleet fleet;
  fleet.nodes = 100;
  fleet.fault = [](const SimulatedPlace& place) {
    const bool host = place.kind == "copy host_to_device" || place.kind == "copy device_to_host";
    return host && place.node % 10 == 3 ? 0.08 : 0;
  };
  const Places found = suspects(fleet);
  ASSERT_EQ(found.size(), 10u);
  EXPECT_EQ(found.front(), "node13");
}

TEST(Fleet, ASmallLossOfAllFiguresOfAGpuIsFoundTogether) {
  SimulatedFleet fleet;
  fleet.spread = 0.003;
  fleet.fault = [](const SimulatedPlace& place) {
    return place.kind == "gemm" && is_gpu(place, 9, 3) ? 0.04 : 0;
  };
  const Score one = score(fleet, 10, "node9 cuda:3");
  EXPECT_GE(one.found, 9);
  EXPECT_LE(one.others, 2);
}

TEST(Fleet, ASlowNodeOfManyPairsIsNamedOrElseThePair) {
  SimulatedFleet fleet;
  fleet.gpus = 1;
  fleet.rounds = 6;
  fleet.fault = [](const SimulatedPlace& place) {
    return place.kind == "fabric write" && is_of(place, 20) ? 0.2 : 0;
  };
  EXPECT_EQ(suspects(fleet), Places{"node20"});
  fleet.fault = [](const SimulatedPlace& place) {
    return place.kind == "fabric write" && place.node == 20 && place.other_node == 23 ? 0.2 : 0;
  };
  EXPECT_EQ(suspects(fleet), Places{"node20 - node23"});
}

TEST(Fleet, ASlowSwitchIsNamedAndNotItsNodes) {
  SimulatedFleet fleet;
  fleet.gpus = 2;
  fleet.rounds = 12;
  double loss = 0.2;
  fleet.fault = [&loss](const SimulatedPlace& place) {
    const bool group =
        (place.node >= 16 && place.node < 24) || (place.other_node >= 16 && place.other_node < 24);
    return place.kind == "fabric write" && group ? loss : 0;
  };
  std::vector<FleetGroup> groups(8);
  for (int node = 0; node < fleet.nodes; ++node) {
    groups[static_cast<std::size_t>(node / 8)].nodes.push_back(node);
  }
  EXPECT_EQ(suspects(fleet, groups), Places{"group 2"});
  loss = 0.04;
  EXPECT_EQ(suspects(fleet, groups), Places{"group 2"}) << "which only its nodes show";
  loss = 0.2;
  EXPECT_EQ(suspects(fleet).size(), 8u) << "without the groups its nodes are named";
}

TEST(Fleet, TwoFaultsOfOneNodeAreTwoSuspects) {
  SimulatedFleet fleet;
  fleet.fault = [](const SimulatedPlace& place) {
    const bool of_node = place.kind == "gemm" && place.node == 5;
    return of_node ? (place.gpu == 2 ? 0.4 : 0.15) : 0;
  };
  EXPECT_EQ(suspects(fleet), (Places{"node5", "node5 cuda:2"}));
}

TEST(Fleet, OneNodeComparesItsGpus) {
  SimulatedFleet fleet;
  fleet.nodes = 1;
  fleet.fault = [](const SimulatedPlace& place) {
    return place.kind == "gemm" && place.gpu == 2 ? 0.3 : 0;
  };
  EXPECT_EQ(suspects(fleet), Places{"node0 cuda:2"});
}

TEST(Fleet, EqualFiguresOfSimulatedMachinesHideNothing) {
  SimulatedFleet fleet;
  fleet.nodes = 6;
  fleet.noise = fleet.spread = 0;
  EXPECT_EQ(suspects(fleet), Places{});
  fleet.fault = [](const SimulatedPlace& place) {
    return place.kind == "copy peer" && is_gpu(place, 4, 6) ? 0.9 : 0;
  };
  const FleetSamples samples = simulated(fleet);
  const FleetJudgement judged = judge_fleet(samples, {});
  EXPECT_EQ(places_of(judged, samples), Places{"node4 cuda:6"});
  for (const FigurePeers& peers : judged.figures) EXPECT_EQ(peers.spread, 0);
}

TEST(Fleet, TwoNodesOfOneFigureEachAreNotJudged) {
  FleetSamples samples;
  for (const double value : {0.0, -1.0}) {
    const int node = samples.node("node" + std::to_string(samples.nodes().size()));
    const int place = samples.place({samples.unit(node, "")});
    samples.add({samples.figure("x", {"x", "x", ""}), place, value, 0.01, 0});
  }
  const FleetJudgement judged = judge_fleet(samples, {});
  EXPECT_TRUE(judged.suspects.empty());
  EXPECT_FALSE(judged.figures[0].judged);
  EXPECT_NEAR(judged.residuals[0], 0.5, 1e-12);
}

TEST(Fleet, EvidenceSaysWhatIsMissing) {
  SimulatedFleet fleet;
  fleet.fault = [](const SimulatedPlace& place) {
    return place.kind == "gemm" && is_gpu(place, 9, 3) ? 0.2 : 0;
  };
  const FleetSamples samples = simulated(fleet);
  const FleetJudgement judged = judge_fleet(samples, {});
  ASSERT_EQ(judged.suspects.size(), 1u);
  const FleetSuspect& one = judged.suspects[0];
  ASSERT_EQ(one.evidence.size(), 1u);
  EXPECT_EQ(one.evidence[0].kind, "gemm");
  EXPECT_EQ(one.evidence[0].slow, 6);
  EXPECT_EQ(one.evidence[0].figures, 6);
  EXPECT_NEAR(one.evidence[0].loss, 0.2, 0.03);
  EXPECT_EQ(one.sureness, Sureness::sure);
  EXPECT_LT(one.chance, 1e-3);
  EXPECT_EQ(nodes_of(one, samples, {}), std::vector<int>{9});
}

}  // namespace
}  // namespace duet
