#include "soak/round.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "core/label_fixture.h"
#include "soak/gemm_lane.h"

namespace duet {
namespace {

// Rounds of a machine with planted faults.
struct Soaking {
  std::unique_ptr<Machine> machine;
  std::unique_ptr<SoakRunner> runner;

  Soaking(const std::string& device, const std::string& faults) : machine(open_machine(device)) {
    SoakOptions options;
    options.round_seconds = 0.05;
    options.kept_bytes = 1 << 20;
    options.injections = parse_injections(faults, machine->size());
    runner = std::make_unique<SoakRunner>(*machine, options, std::function<bool()>(),
                                          [](const std::string&) {});
  }
};

class SoakRounds : public ::testing::TestWithParam<std::string> {};

TEST_P(SoakRounds, FindNothingWhereNothingIsWrong) {
  Soaking soaking(GetParam(), "");
  const auto devices = static_cast<std::size_t>(soaking.machine->size());
  for (int number = 1; number <= 8; ++number) {
    const SoakRound round = soaking.runner->run(number);
    for (const SoakFinding& each : round.findings) ADD_FAILURE() << text_of(each);
    EXPECT_FALSE(round.lost);
    EXPECT_EQ(round.wrong, 0);
    EXPECT_GT(round.batches.size(), 0u);
    EXPECT_GT(round.flop, 0);
    EXPECT_GT(round.wire_bytes, 0);
    EXPECT_GE(round.compared_bytes, static_cast<double>(soaking.runner->kept_bytes()));
    ASSERT_EQ(round.tflops.size(), devices);
    for (const double tflops : round.tflops) EXPECT_GT(tflops, 0);
  }
}

TEST_P(SoakRounds, FindAndPlaceWhatIsPlanted) {
  const std::string last = std::to_string(open_machine(GetParam())->size() - 1);
  Soaking soaking(GetParam(), "memory@1:" + last + ",link@2:" + last + ",core@3:" + last +
                                  ",counter@4:" + last + ",xid@5:" + last +
                                  ",collective@6:" + last);
  const SoakFault expected[] = {SoakFault::memory,  SoakFault::link, SoakFault::core,
                                SoakFault::counter, SoakFault::xid,  SoakFault::collective};
  const int devices = soaking.machine->size();
  const std::string place = soaking.machine->device(devices - 1).info().name;
  const int most = devices > 1 ? 6 : 5;  // one device has no collective
  for (int number = 1; number <= most; ++number) {
    const SoakRound round = soaking.runner->run(number);
    ASSERT_EQ(round.findings.size(), 1u) << number;
    const SoakFinding& found = round.findings.front();
    EXPECT_EQ(found.fault, expected[number - 1]) << text_of(found);
    if (found.fault == SoakFault::collective) {
      EXPECT_EQ(found.place.substr(found.place.size() - place.size()), place);
    } else if (found.fault != SoakFault::link) {
      EXPECT_EQ(found.place, place);
    } else if (devices == 1) {
      EXPECT_EQ(found.place, "host > " + place);
    } else {
      const int to = (devices - 1 + round.plan.shift) % devices;
      EXPECT_EQ(found.place, place + " > " + soaking.machine->device(to).info().name);
    }
    EXPECT_EQ(round.wrong, number <= 3 || number == 6 ? 1 : 0);
  }
  EXPECT_TRUE(soaking.runner->run(7).findings.empty());
}

TEST_P(SoakRounds, EndWhereADeviceIsLost) {
  Soaking soaking(GetParam(), "lost@1:0");
  const SoakRound round = soaking.runner->run(1);
  EXPECT_TRUE(round.lost);
  ASSERT_EQ(round.findings.size(), 1u);
  EXPECT_EQ(round.findings.front().fault, SoakFault::lost);
  EXPECT_EQ(round.findings.front().place, soaking.machine->device(0).info().name);
}

INSTANTIATE_TEST_SUITE_P(Machines, SoakRounds,
                         ::testing::Values("host", "host:2", "sim:h200-4", "sim:mi300x:devices=2"),
                         machine_label);

TEST(SoakRoundsOf, HaveAHalvedRateWhereADeviceIsSlow) {
  Soaking soaking("sim:h200-4", "slow@2:1");
  const SoakRound round = soaking.runner->run(2);
  ASSERT_EQ(round.tflops.size(), 4u);
  EXPECT_NEAR(round.tflops[1] / round.tflops[0], 0.5, 0.01);
  EXPECT_NEAR(round.tflops[2] / round.tflops[0], 1, 0.01);
}

TEST(SoakRoundsOf, LastAsLongAsAsked) {
  Soaking soaking("sim:h200-4", "");
  const double begin = soaking.machine->now();
  soaking.runner->run(1);
  EXPECT_NEAR(soaking.machine->now() - begin, 0.05, 0.01);
}

TEST(SoakRoundsOf, StopWhenAsked) {
  const auto machine = open_machine("host");
  SoakOptions options;
  options.round_seconds = 3600;
  SoakRunner runner(
      *machine, options, [] { return true; }, [](const std::string&) {});
  EXPECT_TRUE(runner.run(1).cut_short);
}

TEST(SoakKeptMemory, ShrinksUntilNothingIsLeft) {
  const auto machine = open_machine("host");
  constexpr std::uint64_t kMiB = 1 << 20;
  SoakKept kept(machine->device(0), 17 * kMiB, kMiB);
  EXPECT_EQ(kept.bytes(), 17 * kMiB);
  EXPECT_TRUE(kept.shrink());
  EXPECT_EQ(kept.bytes(), 15 * kMiB);
  int left = 0;
  while (kept.shrink()) ++left;
  EXPECT_LT(left, 17);
  EXPECT_EQ(kept.bytes(), 0u);
  int wrong = 0;
  kept.fill({}, 0);
  EXPECT_TRUE(kept.check({}, 0, wrong).empty());
}

// Devices that make another product of the same inputs are told from each other.
TEST(SoakGemms, FirstProductsAreComparedBetweenDevices) {
  const auto machine = open_machine("sim:h200-4");
  OverlapEngines engines(*machine);
  SoakRoundPlan plan;
  plan.gemm = {64, 64, 64};
  std::unique_ptr<SoakGemm> lanes[4];
  engines.team().each([&](Rank& rank) {
    SoakRoundPlan own = plan;
    if (rank.index == 2) own.seed = 5;
    lanes[rank.index] = std::make_unique<SoakGemm>(rank, engines.gemm(), own, 1);
    EXPECT_FALSE(lanes[rank.index]->check_first());
    rank.team.barrier("products");
    if (rank.index == 0) return;
    EXPECT_TRUE(lanes[rank.index]->comparable(*lanes[0]));
    EXPECT_EQ(lanes[rank.index]->compare_first(*lanes[0]).has_value(), rank.index == 2);
  });
}

}  // namespace
}  // namespace duet
