#include <gtest/gtest.h>

#include "copy/workload.h"
#include "verdict/expectation_fixture.h"

namespace duet {
namespace {

using CopyExpectations = Expectations;

MachineLink link(int from, int to, const char* kind, int count) {
  return {from, to, {kind, count}};
}

Record peer(double bytes, const char* pattern = "pair", bool both = false) {
  return result("copy",
                {{"kind", "peer"},
                 {"executor", "dma"},
                 {"issue", "push"},
                 {"pattern", pattern},
                 {"bytes", bytes},
                 {"source", "cuda:0"},
                 {"destination", "cuda:1"},
                 {"bidirectional", both}},
                {0, 0, both ? 2 * bytes : bytes});
}

TEST_F(CopyExpectations, APairThroughASwitchHasAllLinks) {
  const Expectation expectation = expect_copy(peer(256 * kMiB), site());
  EXPECT_DOUBLE_EQ(*expectation.bound, 450);
  const double seconds = 10e-6 + 256 * kMiB / 405e9;
  EXPECT_NEAR(*expectation.expected, 256 * kMiB / seconds / 1e9, 1e-6);
}

TEST_F(CopyExpectations, AMeshGivesOneLinkToEachPeer) {
  spec_.link = LinkSpec{"Fabric", true, 7, 448};
  machine_ = machine(8);
  EXPECT_DOUBLE_EQ(*expect_copy(peer(256 * kMiB), site()).bound, 64);
  EXPECT_DOUBLE_EQ(*expect_copy(peer(256 * kMiB, "all_pairs"), site()).bound, 8 * 448);
  machine_ = machine(4);  // part of a node: three peers
  EXPECT_DOUBLE_EQ(*expect_copy(peer(256 * kMiB, "all_pairs"), site()).bound, 4 * 3 * 64);
}

TEST_F(CopyExpectations, AllPairsAndBothWaysCountEveryDirection) {
  EXPECT_DOUBLE_EQ(*expect_copy(peer(256 * kMiB, "all_pairs"), site()).bound, 4 * 450);
  const Expectation both = expect_copy(peer(256 * kMiB, "pair", true), site());
  EXPECT_DOUBLE_EQ(*both.bound, 900);
  EXPECT_NEAR(*both.expected, 720, 1e-6);  // the first rule that fits applies
}

TEST_F(CopyExpectations, WithoutLinksPeersGoOverTheHost) {
  spec_.link.reset();
  EXPECT_DOUBLE_EQ(*expect_copy(peer(256 * kMiB), site()).bound, 63);
}

TEST_F(CopyExpectations, CopiesUnderARowsSizeAreNotJudged) {
  const Expectation expectation = expect_copy(peer(4096), site());
  EXPECT_FALSE(expectation.expected.has_value());
  EXPECT_TRUE(expectation.bound.has_value());
}

TEST_F(CopyExpectations, MemoryIsNoBoundForWhatFitsInTheCache) {
  const auto local = [](double bytes) {
    return result("copy", {{"kind", "local"}, {"executor", "dma"}, {"bytes", bytes}},
                  {0, 2 * bytes, 0});
  };
  EXPECT_FALSE(expect_copy(local(16 * kMiB), site()).bound.has_value());
  EXPECT_NEAR(*expect_copy(local(1024 * kMiB), site()).expected, 3400, 1e-6);
}

TEST_F(CopyExpectations, PageableMemoryHasNoRow) {
  const auto from = [](const char* memory) {
    return result(
        "copy",
        {{"kind", "host_to_device"}, {"executor", "dma"}, {"bytes", 64 * kMiB}, {"source", memory}},
        {0, 0, 64 * kMiB});
  };
  EXPECT_NEAR(*expect_copy(from("pinned"), site()).expected, 55.44, 1e-6);
  EXPECT_FALSE(expect_copy(from("pageable"), site()).expected.has_value());
}

TEST_F(CopyExpectations, AChosenGridIsAnExperiment) {
  Record chosen = peer(256 * kMiB);
  chosen.id.axes.set("grid", 4);
  EXPECT_FALSE(expect_copy(chosen, site()).expected.has_value());
  EXPECT_TRUE(expect_copy(chosen, site()).bound.has_value());
  const Site cpu = cpu_site({{copy_peak_name("dma"), measured_peak(40, 60, kMiB)}});
  chosen.id.axes.set("kind", "local");
  EXPECT_FALSE(expect_copy(chosen, cpu).expected.has_value());
}

TEST_F(CopyExpectations, ABoardWithoutSwitchDividesItsLinks) {
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      if (from != to) machine_.links.push_back(link(from, to, "", 6));
    }
  }
  EXPECT_DOUBLE_EQ(*expect_copy(peer(256 * kMiB), site()).bound, 150);
  EXPECT_DOUBLE_EQ(*expect_copy(peer(256 * kMiB, "all_pairs"), site()).bound, 4 * 3 * 150);
  machine_.links[0].link.count = 5;  // one link less is a fault again
  EXPECT_DOUBLE_EQ(*expect_copy(peer(256 * kMiB), site()).bound, 450);
  EXPECT_EQ(expect_copy(peer(256 * kMiB), site()).advice,
            "only 5 of 18 links are up between cuda:0 and cuda:1");
}

TEST_F(CopyExpectations, LinksThatNobodyPromisesHaveNoBound) {
  spec_.link.reset();
  machine_.links = {link(0, 1, "NVLink", 12)};
  const Expectation expectation = expect_copy(peer(256 * kMiB), site());
  EXPECT_FALSE(expectation.bound.has_value());
  EXPECT_NE(expectation.unknown.find("NVLink"), std::string::npos);
}

TEST_F(CopyExpectations, ANetworkBetweenNodesIsNotPromised) {
  machine_.links = {link(0, 1, "EFA", 4)};
  const Expectation expectation = expect_copy(peer(256 * kMiB), site());
  EXPECT_FALSE(expectation.expected.has_value());
  EXPECT_NE(expectation.unknown.find("EFA"), std::string::npos);
}

TEST_F(CopyExpectations, AMakersCacheCountsWhereTheDriverTellsOfLess) {
  const Record local = result(
      "copy", {{"kind", "local"}, {"executor", "dma"}, {"bytes", 128 * kMiB}}, {0, 256 * kMiB, 0});
  EXPECT_TRUE(expect_copy(local, site()).bound.has_value());
  spec_.cache_bytes = 256 * kMiB;
  EXPECT_FALSE(expect_copy(local, site()).bound.has_value());
}

TEST_F(CopyExpectations, FewerLinksThanPromisedAreNamed) {
  machine_.links = {link(0, 1, "", 12)};
  EXPECT_EQ(expect_copy(peer(256 * kMiB), site()).advice,
            "only 12 of 18 links are up between cuda:0 and cuda:1");
}

TEST_F(CopyExpectations, ACpuIsHeldAgainstItsMeasuredPeak) {
  const Site cpu = cpu_site({{copy_peak_name("kernel"), measured_peak(40, 60, 256 * kMiB)}});
  const auto local = [](const char* executor, double bytes) {
    return result("copy", {{"kind", "local"}, {"executor", executor}, {"bytes", bytes}}, {});
  };
  EXPECT_DOUBLE_EQ(*expect_copy(local("kernel", 256 * kMiB), cpu).expected, 36);
  EXPECT_DOUBLE_EQ(*expect_copy(local("kernel", 256 * kMiB), cpu).bound, 60);
  EXPECT_FALSE(expect_copy(local("kernel", kMiB), cpu).expected.has_value());
  EXPECT_FALSE(expect_copy(local("dma", 256 * kMiB), cpu).expected.has_value());
}

}  // namespace
}  // namespace duet
