#include "overlap/scenario.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "core/message_fixture.h"
#include "device/machine.h"

namespace duet {
namespace {

std::string refusal(const std::string& text) {
  return message_of<UsageError>([&] { read_scenarios("mine.toml", text); });
}

TEST(Scenarios, OfThePaperAreThirtyAndFitFourAndEightRanks) {
  const auto paper = scenario_set("paper");
  ASSERT_EQ(paper.size(), 30u);
  std::set<std::string> names;
  for (const OverlapScenario& each : paper) {
    names.insert(each.name);
    check_scenario(each, 4);
    check_scenario(each, 8);
  }
  EXPECT_EQ(names.size(), 30u);
  EXPECT_EQ(paper[12].name, "cb5_1.63G all_gather");
  EXPECT_EQ(bytes_of(paper[12].communication), 106496u * 8192u * 2u);
  EXPECT_EQ(std::get<GemmProblem>(paper[12].compute).m, 106496);
  EXPECT_EQ(paper[12].source, "LLaMA-405B");
}

TEST(Scenarios, MayHaveACopyBesideBoth) {
  const std::string head =
      "[[scenario]]\nname = 'a'\nsource = 'b'\ngemm = '512x512x512'\nbytes = '4M'\n"
      "collectives = ['all_gather']\n";
  const auto read = read_scenarios("mine.toml", head + "also = 'copy:device_to_host:256M'\n");
  ASSERT_EQ(read.size(), 1u);
  ASSERT_TRUE(read[0].copy);
  EXPECT_EQ(read[0].copy->kind, CopyKind::device_to_host);
  EXPECT_EQ(read[0].copy->bytes, 256u << 20);
  EXPECT_EQ(read[0].name, "a all_gather + copy device_to_host dma 256 MiB");
  EXPECT_FALSE(is_gemm_beside_collective(read[0]));
  EXPECT_TRUE(contains(refusal(head + "also = 'all_gather:4M'\n"), "expected copy:KIND:BYTES"));
  EXPECT_TRUE(contains(message_of<UsageError>([&] { with_copy(read[0], "copy:local:1M"); }),
                       "expected one copy beside both"));
  OverlapScenario host =
      with_copy(parse_scenario("gemm:512x512x512", "all_gather:4M"), "copy:device_to_host:1M:host");
  EXPECT_THROW(check_scenario(host, 2), UsageError);
}

TEST(Scenarios, BuiltInAllFit) {
  for (const OverlapScenario& each : scenario_set("all")) {
    for (const int ranks : {2, 4, 8}) check_scenario(each, ranks);
  }
  EXPECT_THROW(scenario_set("papers"), UsageError);
}

// What a study showed of two GEMMs holds for its scenarios on the machine that it is fitted to.
TEST(Scenarios, WhatIsFittedIsOfTheStudysScenariosOnItsMachineAlone) {
  const auto mi300x = open_machine("sim:mi300x-8"), h200 = open_machine("sim:h200-4");
  for (const OverlapScenario& each : scenario_set("paper")) {
    const FittedTraffic* fitted = fitted_traffic(each, *mi300x);
    EXPECT_EQ(fitted != nullptr, each.name.rfind("mb", 0) == 0) << each.name;
    if (fitted != nullptr) {
      EXPECT_EQ(fitted->traffic, 57);
    }
    EXPECT_EQ(fitted_traffic(each, *h200), nullptr);
  }
  for (const char* set : {"training", "nano", "memory"}) {
    for (const OverlapScenario& each : scenario_set(set)) EXPECT_TRUE(each.fitted.empty());
  }
  const auto typed = parse_scenario("gemm:8192x57344x8192", "all_gather:896M");
  EXPECT_EQ(fitted_traffic(typed, *mi300x), nullptr);
}

TEST(Scenarios, WhatIsFittedNamesAGemmOfItsFile) {
  const std::string scenario =
      "[[scenario]]\nname = \"a\"\nsource = \"b\"\ngemm = \"64x64x64\"\nbytes = 65536\n"
      "collectives = [\"all_gather\"]\n";
  const auto fitted = [](const char* gemm, const char* traffic) {
    return fmt::format(
        "[[fitted_traffic]]\ngemm = \"{}\"\nmodel = \"m\"\ntraffic = {}\nfitted_to = \"x\"\n", gemm,
        traffic);
  };
  EXPECT_EQ(read_scenarios("mine.toml", scenario + fitted("64x64x64", "2")).front().fitted.size(),
            1u);
  EXPECT_TRUE(contains(refusal(scenario + fitted("32x64x64", "2")), "the GEMM of a scenario"));
  EXPECT_NE(refusal(scenario + fitted("64x64x64", "0")).find("'fitted_traffic[0].traffic'"),
            std::string::npos)
      << refusal(scenario + fitted("64x64x64", "0"));
}

TEST(Scenarios, InPiecesShareBothSides) {
  const OverlapScenario nano = scenario_set("nano").back();
  EXPECT_EQ(nano.pieces, 8);
  EXPECT_EQ(gemm_beside_collective(nano).problem.m, 1024);
  EXPECT_EQ(gemm_beside_collective(nano).bytes, 939524096u / 8);
}

TEST(Scenarios, AreTypedIn) {
  const OverlapScenario mine = parse_scenario("gemm:512x256x128:fp16", "all_reduce:64M");
  const GemmBesideCollective pair = gemm_beside_collective(mine);
  EXPECT_EQ(pair.problem.n, 256);
  EXPECT_EQ(pair.problem.dtype, DType::fp16);
  EXPECT_EQ(pair.collective, CollectiveKind::all_reduce);
  EXPECT_EQ(pair.bytes, 64u << 20);
  EXPECT_EQ(mine.name, "512x256x128_64M all_reduce");
  for (const char* text : {"gemm", "conv:1x1x1", "gemm:1x1", "gemm:squares", "gemm:1x1x1:bf16:x"}) {
    EXPECT_THROW(parse_scenario(text, "all_gather:1M"), UsageError) << text;
  }
  for (const char* text : {"all_gather", "gather_all:1M", "all_gather:x", "all_gather:1M:2"}) {
    EXPECT_THROW(parse_scenario("gemm:64x64x64", text), UsageError) << text;
  }
}

TEST(Scenarios, OfOtherWorksAreReadToo) {
  const auto mine = read_scenarios("mine.toml",
                                   "[[scenario]]\nname = \"offload\"\nsource = \"b\"\n"
                                   "compute = \"copy:local:1M:kernel\"\n"
                                   "communicate = [\"copy:device_to_host:2M\", \"gemm:8x8x8\"]\n");
  ASSERT_EQ(mine.size(), 2u);
  EXPECT_EQ(mine[0].name, "offload copy device_to_host dma 2 MiB");
  EXPECT_EQ(bytes_of(mine[0].communication), 2u << 20);
  EXPECT_EQ(mine[1].name, "offload 8x8x8 bf16 nn");
  EXPECT_THROW(gemm_beside_collective(mine[1]), UsageError);
}

TEST(Scenarios, InPlaceKeepTheirName) {
  const OverlapScenario mine = in_place(parse_scenario("gemm:512x256x128", "all_gather:64M"));
  EXPECT_TRUE(mine.in_place);
  EXPECT_EQ(mine.name, "512x256x128_64M all_gather");
  EXPECT_EQ(full_name(mine), "512x256x128_64M all_gather in place");
  EXPECT_FALSE(in_place(parse_scenario("gemm:512x256x128", "gemm:8x8x8")).in_place);
}

TEST(Scenarios, ThatDoNotFitSayWhy) {
  OverlapScenario mine = parse_scenario("gemm:510x256x128", "all_gather:64M");
  mine.pieces = 4;
  EXPECT_THROW(check_scenario(mine, 4), UsageError);
  mine.pieces = 1;
  std::get<CollectiveSide>(mine.communication).bytes = 1000003;
  EXPECT_EQ(message_of<UsageError>([&] { check_scenario(mine, 4); }),
            "scenario 510x256x128_64M all_gather: 1000003 bytes: expected as many elements of "
            "bf16 for each of 4 ranks and 1 pieces");
}

TEST(Scenarios, RefuseBrokenFiles) {
  const std::string good =
      "[[scenario]]\nname = \"a\"\nsource = \"b\"\ngemm = \"64x64x64\"\nbytes = 65536\n";
  EXPECT_EQ(read_scenarios("mine.toml", good + "collectives = [\"all_gather\"]\n").size(), 1u);
  EXPECT_NE(refusal(good), "");
  EXPECT_TRUE(contains(refusal(good + "collectives = [\"gather_all\"]\n"), "mine.toml: "));
  EXPECT_TRUE(contains(refusal(good + "collectives = [\"all_gather\"]\ncolor = 3\n"), "color"));
  EXPECT_TRUE(contains(refusal(""), "[[scenario]]"));
  const std::string once = good + "collectives = [\"all_gather\"]\n";
  EXPECT_TRUE(contains(refusal(once + once), "a all_gather: expected a name of its own"));
}

}  // namespace
}  // namespace duet
