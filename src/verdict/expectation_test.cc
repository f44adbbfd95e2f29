#include "verdict/expectation.h"

#include <gtest/gtest.h>

#include "verdict/device_spec_fixture.h"

namespace duet {
namespace {

constexpr double kMiB = 1024 * 1024;

MachineFacts machine(int devices) {
  MachineFacts facts;
  facts.name = "cuda";
  for (int i = 0; i < devices; ++i) {
    DeviceInfo& device = facts.devices.emplace_back();
    device.name = "cuda:" + std::to_string(i);
    device.model = "One";
    device.cache_bytes = 50 << 20;
  }
  return facts;
}

MachineLink link(int from, int to, const char* kind, int count) {
  return {from, to, {kind, count}};
}

Record result(const char* benchmark, const Axes& axes, const Cost& cost) {
  Record record;
  record.id = {benchmark, "cuda", "duet", axes};
  record.seconds.median = 1;
  record.cost = cost;
  return record;
}

Record gemm(double m, double n, double k, const char* dtype = "bf16") {
  return result("gemm", {{"m", m}, {"n", n}, {"k", k}, {"dtype", dtype}},
                {2 * m * n * k, 2 * (m * k + k * n + m * n), 0});
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

class Expectations : public ::testing::Test {
 protected:
  Site site() const { return {machine_, "One", &spec_, {}, {}}; }

  DeviceSpec spec_ = parse_device_spec("one", kMakerOne);
  MachineFacts machine_ = machine(4);
};

TEST_F(Expectations, ALargeGemmIsHeldAgainstItsShareOfThePeak) {
  const Expectation expectation = expect_gemm(gemm(8192, 8192, 8192), site());
  EXPECT_DOUBLE_EQ(*expectation.bound, 1000);
  // 1,024 tiles of 256 x 256 in 11 waves on 100 units.
  EXPECT_DOUBLE_EQ(*expectation.expected, 700 * 1024.0 / 1100);
}

TEST_F(Expectations, TheTileThatFillsTheWavesBestIsTaken) {
  // 5,120 x 1,280: 100 tiles of 256 x 256 fill one wave; 5,120 x 1,536: 120 tiles, or 240 or 480.
  EXPECT_DOUBLE_EQ(*expect_gemm(gemm(5120, 1280, 8192), site()).expected, 700);
  EXPECT_NEAR(*expect_gemm(gemm(5120, 1536, 8192), site()).expected, 700 * 0.85 * 480 / 500, 1e-9);
}

TEST_F(Expectations, AThinGemmIsBoundByMemory) {
  // 34.4 GFLOP over 541 MB: 63.5 FLOP a byte, where the device has 250.
  const Expectation expectation = expect_gemm(gemm(16384, 16384, 64), site());
  EXPECT_NEAR(*expectation.bound, 254, 1);
  EXPECT_NEAR(*expectation.expected, 0.8 * 254, 1);
}

TEST_F(Expectations, SmallGemmsHaveABoundAlone) {
  const Expectation expectation = expect_gemm(gemm(512, 512, 512), site());
  EXPECT_TRUE(expectation.bound.has_value());
  EXPECT_FALSE(expectation.expected.has_value());
  EXPECT_NE(expectation.unknown.find("small"), std::string::npos);
}

TEST_F(Expectations, AnElementTypeWithoutPromiseOrExperienceIsNotGuessed) {
  EXPECT_FALSE(expect_gemm(gemm(8192, 8192, 8192, "int8"), site()).bound.has_value());
  const Expectation fp16 = expect_gemm(gemm(8192, 8192, 8192, "fp16"), site());
  EXPECT_DOUBLE_EQ(*fp16.bound, 1000);
  EXPECT_FALSE(fp16.expected.has_value());
  EXPECT_FALSE(expect_gemm(gemm(8192, 8192, 8192, "nonsense"), site()).bound.has_value());
}

TEST_F(Expectations, APairThroughASwitchHasAllLinks) {
  const Expectation expectation = expect_copy(peer(256 * kMiB), site());
  EXPECT_DOUBLE_EQ(*expectation.bound, 450);
  const double seconds = 10e-6 + 256 * kMiB / 405e9;
  EXPECT_NEAR(*expectation.expected, 256 * kMiB / seconds / 1e9, 1e-6);
}

TEST_F(Expectations, AMeshGivesOneLinkToEachPeer) {
  spec_.link = LinkSpec{"Fabric", true, 7, 448};
  machine_ = machine(8);
  EXPECT_DOUBLE_EQ(*expect_copy(peer(256 * kMiB), site()).bound, 64);
  EXPECT_DOUBLE_EQ(*expect_copy(peer(256 * kMiB, "all_pairs"), site()).bound, 8 * 448);
  machine_ = machine(4);  // part of a node: three peers
  EXPECT_DOUBLE_EQ(*expect_copy(peer(256 * kMiB, "all_pairs"), site()).bound, 4 * 3 * 64);
}

TEST_F(Expectations, AllPairsAndBothWaysCountEveryDirection) {
  EXPECT_DOUBLE_EQ(*expect_copy(peer(256 * kMiB, "all_pairs"), site()).bound, 4 * 450);
  const Expectation both = expect_copy(peer(256 * kMiB, "pair", true), site());
  EXPECT_DOUBLE_EQ(*both.bound, 900);
  EXPECT_NEAR(*both.expected, 720, 1e-6);  // the first rule that fits applies
}

Record collective(const char* kind, double bus_bytes, int ranks = 4) {
  Record record = result("collective", {{"collective", kind}, {"ranks", ranks}}, {});
  record.cost.algorithm_bytes = 2 * bus_bytes;
  record.cost.bus_bytes = bus_bytes;
  return record;
}

// A line of `duet` from 1 MiB (10 GB/s) to 64 MiB (160 GB/s).
CollectiveLine line(const char* collective, int most_ranks = 0,
                    std::optional<bool> in_place = std::nullopt) {
  return {collective, "duet", most_ranks, in_place, false, 1.3, {kMiB, 64 * kMiB}, {10, 160}};
}

TEST_F(Expectations, CollectivesAreHeldAgainstTheSlowestHealthyMachine) {
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

Record halo(double points, int ranks, const char* norm = "none") {
  Record record = result("halo", {{"ranks", ranks}, {"norm", norm}}, {4 * points, 8 * points, 0});
  record.cost.points = points;
  return record;
}

TEST_F(Expectations, ASweepOfOneRankIsHeldAgainstItsMemory) {
  spec_.memory_gb_per_s = 4000;
  spec_.cache_bytes = 60 * kMiB;
  const double large = 16384.0 * 16384;
  const Expectation one = expect_halo(halo(large, 1), site());
  EXPECT_DOUBLE_EQ(*one.bound, 4000);
  EXPECT_DOUBLE_EQ(*one.expected, 3400);
  EXPECT_EQ(one.basis, "85% of the 4000 GB/s of its memory");
  const Expectation four = expect_halo(halo(large, 4), site());
  EXPECT_DOUBLE_EQ(*four.bound, 4 * 4000);
  EXPECT_FALSE(four.expected.has_value());
  EXPECT_FALSE(expect_halo(halo(large, 1, "host"), site()).expected.has_value());
  EXPECT_TRUE(expect_halo(halo(large, 1, "delayed"), site()).expected.has_value());
}

// All cores sweep, so the copy by one of them is no peak.
TEST_F(Expectations, ASweepOfACpuIsHeldAgainstTheCopyOfAllCores) {
  Site cpu{machine_, "CPU", nullptr, {{}, {{"dma", {20.0, 30.0, kMiB}}}}, {}};
  EXPECT_EQ(expect_halo(halo(4096.0 * 4096, 1), cpu).unknown,
            "the run has no copy peak of this CPU");
  cpu.peaks.gb_per_s["kernel"] = {40.0, 60.0, kMiB};
  const Expectation sweep = expect_halo(halo(4096.0 * 4096, 1), cpu);
  EXPECT_DOUBLE_EQ(*sweep.expected, 0.8 * 40);
  EXPECT_DOUBLE_EQ(*sweep.bound, 60);
  EXPECT_FALSE(expect_halo(halo(4096.0 * 4096, 2), cpu).expected.has_value());
}

// A field in the cache is not limited by memory: faster than memory is not suspect.
TEST_F(Expectations, FieldsInTheCacheHaveNoBound) {
  spec_.memory_gb_per_s = 4000;
  spec_.cache_bytes = 60 * kMiB;
  const Expectation small = expect_halo(halo(2048.0 * 2048, 1), site());
  EXPECT_FALSE(small.bound.has_value());
  EXPECT_EQ(small.unknown, "the fields of a rank fit in the cache");
  EXPECT_FALSE(expect_halo(halo(16384.0 * 16384, 64), site()).bound.has_value());
  EXPECT_TRUE(expect_halo(halo(4096.0 * 4096, 1), site()).bound.has_value());
}

TEST_F(Expectations, TheFirstLineOfTheEngineRanksPlaceAndModeCounts) {
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

TEST_F(Expectations, NothingIsKnownOfSeveralCommunicatorsAtOnce) {
  spec_.collectives = {line("all_gather")};
  Record record = collective("all_gather", 64 * kMiB);
  record.id.axes.set("groups", 1);
  EXPECT_TRUE(expect_collective(record, site()).expected.has_value());
  record.id.axes.set("groups", 2);
  EXPECT_FALSE(expect_collective(record, site()).expected.has_value());
}

// Of 16 ranks, each with 400 Gbit/s to other nodes; a rank sends these bytes there and within its
// node.
Record over_nodes(const char* kind, double bus, double network, double inside) {
  Record record = collective(kind, bus, 16);
  record.cost.network_bytes = 16 * network;
  record.cost.link_gbit_per_s = 16 * 400.0;
  record.cost.wire_bytes = 16 * (network + inside);
  return record;
}

TEST_F(Expectations, CollectivesOverNodesAreHeldAgainstRailsAndLinks) {
  // The rails take 10 ms, links within the node 2 ms.
  const Expectation rails = expect_collective(over_nodes("all_to_all", 5e9, 5e8, 9e8), site());
  EXPECT_DOUBLE_EQ(*rails.bound, 500);
  EXPECT_DOUBLE_EQ(*rails.expected, 475);
  EXPECT_EQ(rails.basis, "95% of what the rails take at least, 10 ms");
  // 4 ms and 10 ms.
  const Expectation links = expect_collective(over_nodes("all_gather", 5e9, 2e8, 45e8), site());
  EXPECT_DOUBLE_EQ(*links.bound, 500);
  EXPECT_DOUBLE_EQ(*links.expected, 425);
  EXPECT_DOUBLE_EQ(*expect_collective(over_nodes("all_reduce", 5e9, 5e8, 9e8), site()).expected,
                   0.92 * 475);
}

TEST_F(Expectations, CollectivesOverNodesThatAreSmallOrOfUnknownRailsAreNotJudged) {
  const Expectation small = expect_collective(over_nodes("all_gather", 5e8, 5e7, 9e7), site());
  EXPECT_TRUE(small.bound.has_value());
  EXPECT_EQ(small.unknown, "the collective is small: latency decides");
  Record unknown = over_nodes("all_gather", 5e9, 5e8, 9e8);
  unknown.cost.link_gbit_per_s = 0;
  EXPECT_EQ(expect_collective(unknown, site()).unknown,
            "the rails' speed is not known: --link-gbit says it");
  // CPUs have no spec: moves are held against the rails alone.
  const Site cpu{machine_, "CPU", nullptr, {}, {}};
  EXPECT_DOUBLE_EQ(*expect_collective(over_nodes("all_gather", 5e9, 5e8, 9e9), cpu).expected, 475);
  EXPECT_FALSE(
      expect_collective(over_nodes("all_reduce", 5e9, 5e8, 9e8), cpu).expected.has_value());
}

TEST_F(Expectations, CollectivesOnAMeshUseAllItsLinksButASendOne) {
  spec_.link = LinkSpec{"Fabric", true, 7, 448};
  machine_ = machine(8);
  EXPECT_DOUBLE_EQ(*expect_collective(collective("all_reduce", kMiB, 8), site()).bound, 448);
  EXPECT_DOUBLE_EQ(*expect_collective(collective("send_recv", kMiB, 8), site()).bound, 64);
}

TEST_F(Expectations, CollectivesWithoutLinksRanksOrSharesAreNotJudged) {
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

TEST_F(Expectations, WithoutLinksPeersGoOverTheHost) {
  spec_.link.reset();
  EXPECT_DOUBLE_EQ(*expect_copy(peer(256 * kMiB), site()).bound, 63);
}

TEST_F(Expectations, CopiesUnderARowsSizeAreNotJudged) {
  const Expectation expectation = expect_copy(peer(4096), site());
  EXPECT_FALSE(expectation.expected.has_value());
  EXPECT_TRUE(expectation.bound.has_value());
}

TEST_F(Expectations, MemoryIsNoBoundForWhatFitsInTheCache) {
  const auto local = [](double bytes) {
    return result("copy", {{"kind", "local"}, {"executor", "dma"}, {"bytes", bytes}},
                  {0, 2 * bytes, 0});
  };
  EXPECT_FALSE(expect_copy(local(16 * kMiB), site()).bound.has_value());
  EXPECT_NEAR(*expect_copy(local(1024 * kMiB), site()).expected, 3400, 1e-6);
}

TEST_F(Expectations, PageableMemoryHasNoRow) {
  const auto from = [](const char* memory) {
    return result(
        "copy",
        {{"kind", "host_to_device"}, {"executor", "dma"}, {"bytes", 64 * kMiB}, {"source", memory}},
        {0, 0, 64 * kMiB});
  };
  EXPECT_NEAR(*expect_copy(from("pinned"), site()).expected, 55.44, 1e-6);
  EXPECT_FALSE(expect_copy(from("pageable"), site()).expected.has_value());
}

TEST_F(Expectations, AChosenGridIsAnExperiment) {
  Record chosen = peer(256 * kMiB);
  chosen.id.axes.set("grid", 4);
  EXPECT_FALSE(expect_copy(chosen, site()).expected.has_value());
  EXPECT_TRUE(expect_copy(chosen, site()).bound.has_value());
  const Site cpu{machine_, "CPU", nullptr, {{}, {{"dma", {40.0, 60.0, kMiB}}}}, {}};
  chosen.id.axes.set("kind", "local");
  EXPECT_FALSE(expect_copy(chosen, cpu).expected.has_value());
}

TEST_F(Expectations, ABoardWithoutSwitchDividesItsLinks) {
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

TEST_F(Expectations, LinksThatNobodyPromisesHaveNoBound) {
  spec_.link.reset();
  machine_.links = {link(0, 1, "NVLink", 12)};
  const Expectation expectation = expect_copy(peer(256 * kMiB), site());
  EXPECT_FALSE(expectation.bound.has_value());
  EXPECT_NE(expectation.unknown.find("NVLink"), std::string::npos);
}

TEST_F(Expectations, ANetworkBetweenNodesIsNotPromised) {
  machine_.links = {link(0, 1, "EFA", 4)};
  const Expectation expectation = expect_copy(peer(256 * kMiB), site());
  EXPECT_FALSE(expectation.expected.has_value());
  EXPECT_NE(expectation.unknown.find("EFA"), std::string::npos);
}

TEST_F(Expectations, AWarmGemmThatFitsInTheCacheIsNotBoundByMemory) {
  Record warm = gemm(512, 8192, 2048);  // 44 MB of operands, 50 MiB of cache
  EXPECT_DOUBLE_EQ(*expect_gemm(warm, site()).bound, 1000);
  warm = gemm(64, 8192, 2048);
  EXPECT_DOUBLE_EQ(*expect_gemm(warm, site()).bound, 1000);
  warm.flushed = true;
  EXPECT_LT(*expect_gemm(warm, site()).bound, 300);
}

TEST_F(Expectations, AMakersCacheCountsWhereTheDriverTellsOfLess) {
  const Record local = result(
      "copy", {{"kind", "local"}, {"executor", "dma"}, {"bytes", 128 * kMiB}}, {0, 256 * kMiB, 0});
  EXPECT_TRUE(expect_copy(local, site()).bound.has_value());
  spec_.cache_bytes = 256 * kMiB;
  EXPECT_FALSE(expect_copy(local, site()).bound.has_value());
}

TEST_F(Expectations, FewerLinksThanPromisedAreNamed) {
  machine_.links = {link(0, 1, "", 12)};
  EXPECT_EQ(expect_copy(peer(256 * kMiB), site()).advice,
            "only 12 of 18 links are up between cuda:0 and cuda:1");
}

TEST_F(Expectations, ACpuIsHeldAgainstItsMeasuredPeaks) {
  const Site cpu{machine_,
                 "CPU",
                 nullptr,
                 {{{"fp32", {0.48, 0.5, 0}}}, {{"kernel", {40.0, 60.0, 256 * kMiB}}}},
                 {}};
  EXPECT_DOUBLE_EQ(*expect_gemm(gemm(2048, 2048, 2048, "fp32"), cpu).expected, 0.36);
  EXPECT_TRUE(expect_gemm(gemm(2048, 2048, 2048, "fp32"), cpu).measured_bound);
  EXPECT_FALSE(expect_gemm(gemm(256, 2048, 2048, "fp32"), cpu).expected.has_value());
  EXPECT_FALSE(expect_gemm(gemm(2048, 2048, 2048), cpu).bound.has_value());
  const auto local = [](const char* executor, double bytes) {
    return result("copy", {{"kind", "local"}, {"executor", executor}, {"bytes", bytes}}, {});
  };
  EXPECT_DOUBLE_EQ(*expect_copy(local("kernel", 256 * kMiB), cpu).expected, 36);
  EXPECT_DOUBLE_EQ(*expect_copy(local("kernel", 256 * kMiB), cpu).bound, 60);
  EXPECT_FALSE(expect_copy(local("kernel", kMiB), cpu).expected.has_value());
  EXPECT_FALSE(expect_copy(local("dma", 256 * kMiB), cpu).expected.has_value());
}

// A one-way transfer over four rails of 100 Gbit/s, or over one of them.
Record message(const char* operation, const char* mode, double bytes, int window) {
  Record record = result("fabric",
                         {{"operation", operation},
                          {"mode", mode},
                          {"rails", 4},
                          {"bytes", bytes},
                          {"window", window},
                          {"messages", 8}},
                         {});
  record.cost.network_bytes = bytes;
  record.cost.link_gbit_per_s = std::string(mode) == "single" ? 100.0 : 400.0;
  return record;
}

TEST_F(Expectations, MessagesAreHeldAgainstTheirLinks) {
  const auto expected = [&](const char* operation, const char* mode, double bytes, int window) {
    return expect_fabric(message(operation, mode, bytes, window), site()).expected;
  };
  EXPECT_DOUBLE_EQ(*expected("write", "single", 64 * kMiB, 1), 97);
  EXPECT_DOUBLE_EQ(*expected("write", "split", 64 * kMiB, 1), 380);
  EXPECT_DOUBLE_EQ(*expected("read", "round_robin", 64 * kMiB, 8), 380);
  EXPECT_DOUBLE_EQ(*expected("read", "round_robin", 64 * kMiB, 1), 95);  // one rail at a time
  EXPECT_DOUBLE_EQ(*expected("send_recv", "single", 64 * kMiB, 1), 48);
  EXPECT_DOUBLE_EQ(*expected("write", "single", kMiB, 8), 97);
  EXPECT_FALSE(expected("write", "single", kMiB, 4).has_value());
  EXPECT_FALSE(expected("all_to_all", "split", 64 * kMiB, 8).has_value());
  EXPECT_DOUBLE_EQ(*expect_fabric(message("write", "single", 1, 1), site()).bound, 100);
}

TEST_F(Expectations, MessagesThatTakeAnotherWayHaveNone) {
  Record record = message("write", "single", 64 * kMiB, 1);
  record.id.axes.set("memory_path", "staged");
  EXPECT_FALSE(expect_fabric(record, site()).expected.has_value());
  record.id.axes.set("memory_path", "direct");
  EXPECT_TRUE(expect_fabric(record, site()).expected.has_value());
  record.id.axes.set("issue", "blocking");
  EXPECT_FALSE(expect_fabric(record, site()).expected.has_value());
  record.id.axes.set("issue", "nonblocking");
  record.cost.link_gbit_per_s = 0;
  const Expectation unknown = expect_fabric(record, site());
  EXPECT_FALSE(unknown.bound.has_value());
  EXPECT_NE(unknown.unknown.find("--link-gbit"), std::string::npos);
}

// 1,000 TFLOP/s and 4,000 GB/s: the longer of both bounds the step.
TEST_F(Expectations, ATrainingStepIsBoundByItsFlopOrItsBytes) {
  Record step = result("train", {{"model", "7b"}, {"recipe", "bf16"}}, {250e12, 400e9, 0});
  step.cost.tokens = 8000;
  step.id.axes.set("sequence", 630);
  step.rates = {{"tflops", 250.0}, {"hardware_tflops", 255.0}};
  const Expectation by_flop = expect_training(step, site());
  EXPECT_DOUBLE_EQ(*by_flop.bound, 8000 / 0.25);
  // 220e12 FLOP at 700 TFLOP/s, 35e12 at 0.1764 of 1,000, and 400 GB at 3,200 GB/s.
  EXPECT_NEAR(*by_flop.expected, 0.8 * 8000 / (0.22 / 0.7 + 0.035 / 0.1764 + 0.125), 1e-6);
  EXPECT_NE(by_flop.basis.find("25% of the dense peak"), std::string::npos) << by_flop.basis;
  step.cost.memory_bytes = 4e12;
  EXPECT_DOUBLE_EQ(*expect_training(step, site()).bound, 8000);
  step.id.axes.set("recipe", "fp32");
  EXPECT_FALSE(expect_training(step, site()).bound);
  step.id.axes.set("recipe", "fp8");  // some in bf16, whose peak a step may pass
  step.cost.memory_bytes = 0;
  spec_.tflops[DType::fp8_e4m3] = 2000;
  spec_.efficiency[DType::fp8_e4m3] = 0.7;
  EXPECT_DOUBLE_EQ(*expect_training(step, site()).bound, 8000 / 0.125);
  EXPECT_FALSE(expect_training(step, site()).expected);
  step.cost.tokens = 0;
  EXPECT_FALSE(expect_training(step, site()).bound);
}

TEST_F(Expectations, AParallelTrainingStepIsBoundByWhatEachRankDoes) {
  Record step = result("train", {{"model", "mlp"}, {"recipe", "bf16"}}, {500e12, 800e9, 0});
  step.id.engine = "none";
  step.id.axes.set("parallel", "ddp");
  step.id.axes.set("ranks", 2);
  step.cost.samples = 512;
  step.rates = {{"tflops", 500.0}, {"hardware_tflops", 500.0}};
  EXPECT_DOUBLE_EQ(*expect_training(step, site()).bound, 512 / 0.25);
  EXPECT_NEAR(*expect_training(step, site()).expected, 0.8 * 512 / (0.25 / 0.7 + 0.125), 1e-6);
  step.id.engine = "dma";
  EXPECT_FALSE(expect_training(step, site()).expected);
  step.metrics = {{"communication_seconds", 0.5}};
  const Expectation serial = expect_training(step, site());
  EXPECT_NEAR(*serial.expected, 512 / ((0.25 / 0.7 + 0.125) / 0.8 + 0.5), 1e-6);
  EXPECT_NE(serial.basis.find("500 ms of collectives"), std::string::npos) << serial.basis;
}

TEST_F(Expectations, ATrainingStepHasNoneWithoutItsParts) {
  Record step = result("train", {{"model", "mlp"}, {"recipe", "bf16"}}, {250e12, 400e9, 0});
  step.cost.samples = 256;
  step.rates = {{"tflops", 250.0}, {"hardware_tflops", 250.0}};
  EXPECT_NEAR(*expect_training(step, site()).expected, 0.8 * 256 / (0.25 / 0.7 + 0.125), 1e-6);
  Record other = step;
  other.id.engine = "torch-graph";
  EXPECT_FALSE(expect_training(other, site()).expected);
  other = step;
  other.id.axes.set("recompute", "block");
  EXPECT_FALSE(expect_training(other, site()).expected);
  MachineFacts simulated = machine(1);
  simulated.virtual_time = true;
  EXPECT_FALSE(expect_training(step, {simulated, "One", &spec_, {}, {}}).expected);
}

}  // namespace
}  // namespace duet
