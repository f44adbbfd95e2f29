#include <gtest/gtest.h>

#include "collectives/cost.h"
#include "collectives/workload.h"
#include "timing/work.h"
#include "verdict/expectation_fixture.h"

namespace duet {
namespace {

using CollectiveExpectations = Expectations;

Record collective(const char* kind, double bus_bytes, int ranks = 4) {
  Record record = result("collective", {{"collective", kind}, {"ranks", ranks}}, {});
  record.cost.more = {{kAlgorithmBytes, 2 * bus_bytes}, {kBusBytes, bus_bytes}};
  return record;
}

// A line of `duet` from 1 MiB (10 GB/s) to 64 MiB (160 GB/s).
CollectiveLine line(const char* collective, int most_ranks = 0,
                    std::optional<bool> in_place = std::nullopt) {
  constexpr double kMiB = Expectations::kMiB;
  return {collective, "duet", most_ranks, in_place, false, 1.3, {kMiB, 64 * kMiB}, {10, 160}};
}

TEST_F(CollectiveExpectations, CollectivesAreHeldAgainstTheSlowestHealthyMachine) {
  spec_.collectives = {line("all_gather"), line("all_reduce")};
  const auto expected = [&](const char* kind, double bytes) {
    return expect_collective(collective(kind, bytes), site());
  };
  EXPECT_DOUBLE_EQ(*expected("all_gather", 64 * kMiB).bound, 450);
  EXPECT_DOUBLE_EQ(*expected("all_gather", kMiB).expected, 10);
  EXPECT_NEAR(*expected("all_gather", 8 * kMiB).expected, 40, 1e-9);  // half the way of both
  EXPECT_DOUBLE_EQ(*expected("all_gather", 64 * kMiB).expected, 160);
  EXPECT_DOUBLE_EQ(*expected("all_gather", 1024 * kMiB).expected, 160);
  EXPECT_EQ(expected("all_gather", kMiB).basis,
            "by duet on the slowest of the healthy machines that were measured, which differ by up "
            "to 30%");
  // A switch may reduce: each rank then sends its buffer once.
  EXPECT_DOUBLE_EQ(*expected("all_reduce", 64 * kMiB).bound, 1.5 * 450);
  const Expectation small = expected("all_gather", kMiB / 2);
  EXPECT_TRUE(small.bound.has_value());
  EXPECT_FALSE(small.expected.has_value());
  const Expectation unmeasured = expected("broadcast", 64 * kMiB);
  EXPECT_TRUE(unmeasured.bound.has_value());
  EXPECT_EQ(unmeasured.unknown,
            "what broadcast by duet reaches on healthy machines was not measured");
}

TEST_F(CollectiveExpectations, TheFirstLineOfTheEngineRanksPlaceAndModeCounts) {
  spec_.collectives = {line("all_gather", 2), line("all_gather", 4, true), line("all_gather", 4)};
  for (std::size_t i = 0; i < 3; ++i)
    spec_.collectives[i].gb_per_s = {50, 100.0 + 10.0 * double(i)};
  Record record = collective("all_gather", 64 * kMiB);
  EXPECT_DOUBLE_EQ(*expect_collective(record, site()).expected, 120);
  record.id.axes.set("in_place", true);
  EXPECT_DOUBLE_EQ(*expect_collective(record, site()).expected, 110);
  // 64 MiB at 110 GB/s take long enough to be the same in calls behind each other; 1 MiB do not.
  record.mode = "loop";
  EXPECT_DOUBLE_EQ(*expect_collective(record, site()).expected, 110);
  Record short_one = collective("all_gather", kMiB);
  short_one.mode = "loop";
  EXPECT_EQ(expect_collective(short_one, site()).unknown,
            "what all_gather by duet reaches on healthy machines was not measured in calls behind "
            "each other");
  spec_.collectives[2].in_a_row = true;
  EXPECT_DOUBLE_EQ(*expect_collective(record, site()).expected, 120);
  record.id.axes.set("graph_launches", 4);
  EXPECT_FALSE(expect_collective(record, site()).expected.has_value());
  record = collective("all_gather", 64 * kMiB);
  record.id.engine = "third";
  EXPECT_FALSE(expect_collective(record, site()).expected.has_value());
}

TEST_F(CollectiveExpectations, NothingIsKnownOfSeveralCommunicatorsAtOnce) {
  spec_.collectives = {line("all_gather")};
  Record record = collective("all_gather", 64 * kMiB);
  record.id.axes.set("groups", 1);
  EXPECT_TRUE(expect_collective(record, site()).expected.has_value());
  record.id.axes.set("groups", 2);
  EXPECT_FALSE(expect_collective(record, site()).expected.has_value());
}

// Of 16 ranks, each with 400 Gbit/s to other nodes; a rank sends these bytes there and within its
// node.
Record across_nodes(const char* kind, double bus, double network, double inside) {
  Record record = collective(kind, bus, 16);
  record.cost.more.set(kNetworkBytes, 16 * network);
  record.cost.more.set(kLinkGbitPerS, 16 * 400.0);
  record.cost.wire_bytes = 16 * (network + inside);
  return record;
}

TEST_F(CollectiveExpectations, CollectivesOverNodesAreHeldAgainstRailsAndLinks) {
  // The rails take 10 ms, links within the node 2 ms.
  const Expectation rails = expect_collective(across_nodes("all_to_all", 5e9, 5e8, 9e8), site());
  EXPECT_DOUBLE_EQ(*rails.bound, 500);
  EXPECT_DOUBLE_EQ(*rails.expected, 475);
  EXPECT_EQ(rails.basis, "95% of what the rails take at least, 10 ms");
  // 4 ms and 10 ms.
  const Expectation links = expect_collective(across_nodes("all_gather", 5e9, 2e8, 45e8), site());
  EXPECT_DOUBLE_EQ(*links.bound, 500);
  EXPECT_DOUBLE_EQ(*links.expected, 425);
  EXPECT_DOUBLE_EQ(*expect_collective(across_nodes("all_reduce", 5e9, 5e8, 9e8), site()).expected,
                   0.92 * 475);
}

TEST_F(CollectiveExpectations, CollectivesOverNodesThatAreSmallOrOfUnknownRailsAreNotJudged) {
  const Expectation small = expect_collective(across_nodes("all_gather", 5e8, 5e7, 9e7), site());
  EXPECT_TRUE(small.bound.has_value());
  EXPECT_EQ(small.unknown, "the collective is small: latency decides");
  Record unknown = across_nodes("all_gather", 5e9, 5e8, 9e8);
  unknown.cost.more.set(kLinkGbitPerS, 0);
  EXPECT_EQ(expect_collective(unknown, site()).unknown,
            "the rails' speed is not known: --link-gbit says it");
  Record uneven = across_nodes("all_to_all_v", 5e9, 5e8, 9e8);
  uneven.id.axes.set("layout", std::string("random"));
  EXPECT_EQ(expect_collective(uneven, site()).unknown,
            "how much of an all_to_all_v the busiest rails carry is not in the record");
  uneven.id.axes.set("layout", std::string("even"));
  EXPECT_DOUBLE_EQ(*expect_collective(uneven, site()).expected, 475);
  // CPUs have no spec: moves are held against the rails alone.
  const Site cpu = cpu_site({});
  EXPECT_DOUBLE_EQ(*expect_collective(across_nodes("all_gather", 5e9, 5e8, 9e9), cpu).expected,
                   475);
  EXPECT_FALSE(
      expect_collective(across_nodes("all_reduce", 5e9, 5e8, 9e8), cpu).expected.has_value());
}

TEST_F(CollectiveExpectations, CollectivesOnAMeshUseAllItsLinksButASendOne) {
  spec_.link = LinkSpec{"Fabric", true, 7, 448};
  machine_ = machine(8);
  EXPECT_DOUBLE_EQ(*expect_collective(collective("all_reduce", kMiB, 8), site()).bound, 448);
  EXPECT_DOUBLE_EQ(*expect_collective(collective("send_recv", kMiB, 8), site()).bound, 64);
}

// By copy engines 80% of the links, by kernels 75%; of every pair both ways.
TEST_F(CollectiveExpectations, ANeighborExchangeIsHeldAgainstPushesToTwoPeers) {
  spec_.copies = {{"peer", "dma", "pull", "pair", {}, {}, 0.9},
                  {"peer", "dma", "push", "pair", {}, {}, 0.8},
                  {"peer", "kernel", {}, {}, {}, {}, 0.75}};
  const auto exchange = [&](const char* engine, double bytes) {
    Record record = collective("neighbor_exchange", bytes);
    record.id.engine = engine;
    return expect_collective(record, site());
  };
  EXPECT_DOUBLE_EQ(*exchange("dma", 1024 * kMiB).bound, 450);
  EXPECT_DOUBLE_EQ(*exchange("dma", 1024 * kMiB).expected, 0.8 * 450);
  EXPECT_EQ(exchange("dma", 1024 * kMiB).basis, "80% of the 450 GB/s of 18 x Bridge");
  EXPECT_DOUBLE_EQ(*exchange("kernel", 1024 * kMiB).expected, 0.75 * 450);
  EXPECT_DOUBLE_EQ(*exchange("auto", 1024 * kMiB).expected, 0.75 * 450);
  EXPECT_EQ(exchange("dma", 64 * kMiB).unknown, "the chunks are small: latency decides");
  EXPECT_EQ(exchange("nccl", 1024 * kMiB).unknown,
            "what nccl reaches of the 450 GB/s of 18 x Bridge is not known");
  spec_.copies.pop_back();
  EXPECT_FALSE(exchange("auto", 1024 * kMiB).expected.has_value());
  // A line says more.
  CollectiveLine line_of_dma = line("neighbor_exchange");
  line_of_dma.engine = "dma";
  spec_.collectives = {line_of_dma};
  EXPECT_DOUBLE_EQ(*exchange("dma", 64 * kMiB).expected, 160);
}

// Of a mesh of 448 GB/s to seven peers, two ranks have one link, and more have two.
TEST_F(CollectiveExpectations, ANeighborExchangeOnAMeshHasALinkForEachNeighbor) {
  spec_.link = LinkSpec{"Fabric", true, 7, 448};
  for (const int ranks : {2, 3, 8}) {
    machine_ = machine(ranks);
    EXPECT_DOUBLE_EQ(*expect_collective(collective("neighbor_exchange", kMiB, ranks), site()).bound,
                     ranks == 2 ? 64 : 128);
  }
}

TEST_F(CollectiveExpectations, CollectivesWithoutLinksRanksOrSharesAreNotJudged) {
  const auto unjudged = [&](const Record& record) {
    const Expectation expectation = expect_collective(record, site());
    EXPECT_FALSE(expectation.bound.has_value());
    EXPECT_FALSE(expectation.expected.has_value());
    EXPECT_FALSE(expectation.unknown.empty());
  };
  unjudged(collective("all_to_all_v", 64 * kMiB));
  unjudged(collective("all_gather", 64 * kMiB, 1));
  unjudged(collective("all_gather", 64 * kMiB, 3));
  unjudged(collective("all_gather", 0));
  spec_.link.reset();
  unjudged(collective("all_gather", 64 * kMiB));
}

}  // namespace
}  // namespace duet
