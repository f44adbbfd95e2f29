// The schedules of a neighbor_exchange, in one node and over nodes, proved for rings of many sizes;
// and nothing in them that is not needed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "collectives/schedule/algorithms/node_schedule.h"
#include "collectives/schedule/message_steps.h"
#include "collectives/schedule/node_maps_fixture.h"
#include "collectives/schedule/removals_fixture.h"

namespace duet {
namespace {

struct Exchange {
  int ranks = 2, ring = 0;
  std::uint64_t count = 24;
  bool alternating = false, computes_beside = false, by_kernel = false, in_place = true;
  const NodeMap* nodes = nullptr;
};

// Ranks' fields differ in size, as those of halos do; the smallest is one chunk.
CollectiveSchedule schedules(const Exchange& exchange) {
  AlgorithmInput input{{}, 0, exchange.ranks, CopyLanes{2, true}};
  input.collective.kind = CollectiveKind::neighbor_exchange;
  input.collective.dtype = DType::int8;
  input.collective.count = exchange.count;
  for (int rank = 0; rank < exchange.ranks; ++rank) {
    input.collective.counts.push_back(exchange.count + static_cast<std::uint64_t>(7 * (rank % 3)));
  }
  input.collective.neighbors = {exchange.ring, exchange.alternating, exchange.alternating,
                                exchange.computes_beside};
  input.kernel_moves = exchange.by_kernel;
  input.in_place = exchange.in_place;
  input.nodes = exchange.nodes;
  CollectiveSchedule all{input.collective, {}, {}};
  for (input.rank = 0; input.rank < input.ranks; ++input.rank) {
    all.ranks.push_back(input.nodes != nullptr ? schedule_over_nodes(input)
                                               : neighbor_pushes().schedule(input));
    all.in_place.push_back(exchange.in_place);
  }
  return all;
}

std::string text_of(const Exchange& exchange) {
  return fmt::format("{} ranks, rings of {}, chunks of {}{}{}{}{}", exchange.ranks, exchange.ring,
                     exchange.count, exchange.alternating ? ", alternating" : "",
                     exchange.computes_beside ? ", computes beside" : "",
                     exchange.by_kernel ? ", by kernel" : "",
                     exchange.in_place ? ", in place" : "");
}

template <class Check>
void for_all_ways(Exchange exchange, const Check& check) {
  for (const int way : {0, 1, 2, 3, 4, 5}) {
    exchange.by_kernel = way % 2 == 1;
    exchange.alternating = way > 1;
    exchange.computes_beside = way > 3;
    check(exchange);
  }
}

void expect_right(const Exchange& exchange) {
  for_all_ways(exchange, [](Exchange each) {
    for (const bool in_place : {false, true}) {
      each.in_place = in_place;
      ASSERT_EQ(fault_of(schedules(each)), "") << text_of(each);
    }
  });
}

void expect_all_needed(const Exchange& exchange) {
  for_all_ways(exchange, [](const Exchange& each) {
    CollectiveSchedule schedule = schedules(each);
    for (RankSchedule& rank : schedule.ranks) rank = with_messages_as_steps(rank);
    EXPECT_EQ(unnoticed_removals(schedule), std::vector<std::string>{}) << text_of(each);
  });
}

TEST(NeighborSchedules, AreRightForAllRings) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (const std::uint64_t count : {0, 1, 24}) expect_right({ranks, 0, count});
  }
  for (const int ring : {1, 2, 3}) expect_right({6, ring});
}

TEST(NeighborSchedules, NeedEveryWaitSignalAndEdge) {
  for (int ranks = 2; ranks <= 4; ++ranks) expect_all_needed({ranks});
  expect_all_needed({2, 1});
}

TEST(NeighborSchedules, AreRightOverNodes) {
  for (const bool dealt_out : {false, true}) {
    for (const auto& [nodes, node_size] : {std::pair{2, 1}, {3, 1}, {2, 2}, {3, 2}, {2, 3}}) {
      const NodeMap map = map_of(nodes, node_size, dealt_out);
      for (const int ring : {0, 1, node_size}) {
        Exchange exchange{map.size(), ring};
        exchange.nodes = &map;
        expect_right(exchange);
      }
    }
  }
}

TEST(NeighborSchedules, NeedAllOverNodes) {
  for (const bool dealt_out : {false, true}) {
    for (const auto& [nodes, node_size] : {std::pair{2, 1}, {3, 1}, {2, 2}}) {
      const NodeMap map = map_of(nodes, node_size, dealt_out);
      Exchange exchange{map.size()};
      exchange.nodes = &map;
      expect_all_needed(exchange);
    }
  }
}

TEST(NeighborSchedules, ComputeOnTheCallersStreamWithNothingElse) {
  Exchange exchange{2};
  exchange.alternating = true;
  CollectiveSchedule schedule = schedules(exchange);
  for (Step& step : schedule.ranks.front().steps) {
    if (step.compute) step.signals.push_back({0, 1, 0, 0});
  }
  EXPECT_NE(fault_of(schedule).find("expected the caller's compute on its stream"),
            std::string::npos);
}

// One plan alone that was made to alternate writes what a neighbour may not have read.
TEST(NeighborSchedules, AlternateWithAnother) {
  Exchange exchange{3};
  exchange.alternating = true;
  const CollectiveSchedule one = schedules(exchange);
  EXPECT_EQ(fault_of(one), "");
  EXPECT_NE(fault_of(CheckedCalls{{&one, &one}}), "");
}

}  // namespace
}  // namespace duet
