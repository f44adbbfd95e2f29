// Works at once, on real and simulated machines: order, overlap, and works that fail.
#include "timing/beside_sampler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "core/error.h"
#include "core/label_fixture.h"
#include "core/message_fixture.h"
#include "team/processes_fixture.h"

namespace duet {
namespace {

enum class Fault { none, prepare, enqueue, verify, never_ends };

// A task of `flop` FLOP on one compute unit, with an optional fault.
class Flops : public Work {
 public:
  explicit Flops(double flop, Fault fault = Fault::none) : flop_(flop), fault_(fault) {}
  std::string name() const override { return "flops"; }
  Cost cost() const override { return {}; }
  void prepare(Rank& rank, const Placement&) override {
    if (fault_ == Fault::prepare && rank.index == rank.size - 1) throw Mismatch("prepare");
    if (rank.index == 0) word_ = rank.device.allocate(sizeof(std::uint64_t));
    const std::uint64_t zero = 0;
    if (rank.index == 0) rank.device.write(word_.span(), &zero);
    ++prepared;
  }
  void enqueue(Rank& rank, Stream& stream) override {
    if (fault_ == Fault::enqueue && rank.index == rank.size - 1) throw Mismatch("enqueue");
    if (fault_ == Fault::never_ends && rank.index == 0) stream.wait(semaphore_at(word_, 0), 1);
    stream.run({"flops", {flop_, DType::fp32, 0, 1}, [this] { ++ran; }});
  }
  bool host_driven() const override { return blocks; }
  void renew(Rank&) override {}
  std::optional<Skipped> verify(Rank&) override {
    if (fault_ == Fault::verify) throw Mismatch("verify");
    return {};
  }
  void release(Rank&) noexcept override { ++released; }

  bool blocks = false;
  std::atomic<int> prepared{0}, ran{0}, released{0};

 private:
  double flop_;
  Fault fault_;
  Buffer word_;
};

class BesideSamplerTest : public ::testing::TestWithParam<const char*> {
 protected:
  BesideSampling measure(Work& first, Work& second) {
    return BesideSampler(team_).measure({{first}, {second}}, mode_);
  }

  // The team can measure again after a failure.
  void expect_usable() {
    mode_.deadline_seconds = 20;
    Flops first(1e6), second(1e6);
    EXPECT_EQ(measure(first, second).iterations.size(), 4u);
  }

  std::unique_ptr<Machine> machine_ = open_machine(GetParam());
  Team team_{*machine_};
  BesideMode mode_ = [] {
    BesideMode mode;
    mode.warm_ups = 2;
    mode.warm_up_seconds = mode.seconds = 0;
    mode.iterations = 4;
    mode.deadline_seconds = 20;
    return mode;
  }();
};

TEST_P(BesideSamplerTest, RunsBothOnAllRanksEachTime) {
  Flops first(1e6), second(1e6);
  const BesideSampling s = measure(first, second);
  ASSERT_EQ(s.iterations.size(), 4u);
  EXPECT_TRUE(s.verified);
  for (const Flops* each : {&first, &second}) {
    EXPECT_EQ(each->ran, team_.size() * (2 + s.warm_ups + 4));
    EXPECT_EQ(each->released, team_.size());
  }
  for (const BesideIteration& one : s.iterations) {
    EXPECT_EQ(one.works[0].size(), static_cast<std::size_t>(team_.size()));
    EXPECT_GE(one.together(), one.seconds(0));
  }
}

TEST_P(BesideSamplerTest, RunsAgainAfterItsSamples) {
  Flops first(1e6), second(1e6);
  BesideSampler(team_).measure({{first}, {second}}, mode_, [&](const RunAgain& again) {
    const int before = second.ran;
    const Rerun rerun = again();
    EXPECT_EQ(rerun.iterations, 1);
    EXPECT_GT(rerun.seconds, 0);
    EXPECT_EQ(second.ran, before + team_.size());
    EXPECT_EQ(second.released, 0);
  });
}

TEST_P(BesideSamplerTest, SerialIsOneAfterTheOther) {
  mode_.serial = true;
  Flops first(1e6), second(1e6);
  for (const BesideIteration& one : measure(first, second).iterations) {
    for (std::size_t rank = 0; rank < one.works[0].size(); ++rank) {
      EXPECT_GE(one.works[1][rank].begin, one.works[0][rank].end);
    }
  }
}

// Each side uses one compute unit of many, so both run at once; the second begins lag_seconds
// later.
TEST_P(BesideSamplerTest, BesideIsAtOnceAndInOrder) {
  if (!machine_->is_virtual()) GTEST_SKIP() << "times of a real machine are not asserted";
  Flops first(1e9), second(1e9);
  for (const BesideIteration& one : measure(first, second).iterations) {
    for (std::size_t rank = 0; rank < one.works[0].size(); ++rank) {
      EXPECT_GE(one.works[1][rank].begin, mode_.lag_seconds);
      EXPECT_LT(one.works[1][rank].begin, 2 * mode_.lag_seconds);
      EXPECT_LT(one.works[1][rank].begin, one.works[0][rank].end);
    }
    EXPECT_LT(one.together(), 0.6 * (one.seconds(0) + one.seconds(1)));
  }
}

// The third has a stream of its own where the others share one.
TEST_P(BesideSamplerTest, AThirdRunsBesideBothOthers) {
  mode_.serial = true;
  Flops first(1e9), second(1e9), third(1e9);
  const BesideSampling s = BesideSampler(team_).measure({{first}, {second}, {third}}, mode_);
  ASSERT_EQ(s.iterations.size(), 4u);
  EXPECT_EQ(third.ran, second.ran);
  EXPECT_EQ(third.released, team_.size());
  for (const BesideIteration& one : s.iterations) {
    ASSERT_EQ(one.works.size(), 3u);
    for (std::size_t rank = 0; rank < one.works[0].size(); ++rank) {
      EXPECT_GE(one.works[1][rank].begin, one.works[0][rank].end);
      if (!machine_->is_virtual()) continue;
      EXPECT_LT(one.works[2][rank].begin, one.works[0][rank].end);
    }
  }
}

TEST_P(BesideSamplerTest, ByTurnsSamplesEachAndEndsWithTheFirst) {
  Flops first(1e6), second(1e6);
  std::vector<int> begun;
  const auto samplings = BesideSampler(team_).measure_by_turns(
      {{first}, {second}}, mode_, {3, [&](int turn) { begun.push_back(turn); }});
  ASSERT_EQ(samplings.size(), 3u);
  for (const BesideSampling& each : samplings) EXPECT_EQ(each.iterations.size(), 4u);
  const std::size_t rounds = static_cast<std::size_t>(samplings[0].warm_ups) + 4;
  ASSERT_EQ(begun.size(), 1 + 3 * rounds + 1);
  EXPECT_EQ(begun.front(), 0);
  EXPECT_EQ(begun.back(), 0);
  for (std::size_t i = 0; i < 3 * rounds; ++i) EXPECT_EQ(begun[1 + i], static_cast<int>(i % 3));
}

// After a failure on one rank, the Work is released on all ranks; a Work that was never prepared is
// not released.
TEST_P(BesideSamplerTest, ReleasesBothAfterAFailureAnywhere) {
  for (const Fault fault : {Fault::prepare, Fault::enqueue, Fault::verify}) {
    Flops sound(1e6), broken(1e6, fault);
    EXPECT_THROW(measure(sound, broken), Mismatch);
    EXPECT_THROW(measure(broken, sound), Mismatch);
    EXPECT_EQ(sound.released, sound.prepared);
    EXPECT_EQ(broken.released, 2 * team_.size());
    expect_usable();
  }
}

TEST_P(BesideSamplerTest, GivesUpOnAWorkThatNeverEnds) {
  constexpr double kDeadlineSeconds = 0.2;
  Flops sound(1e6), endless(1e6, Fault::never_ends);
  for (const bool endless_first : {false, true}) {
    mode_.deadline_seconds = kDeadlineSeconds;
    const auto begin = std::chrono::steady_clock::now();
    const std::string words = message_of<Timeout>(
        [&] { endless_first ? measure(endless, sound) : measure(sound, endless); });
    EXPECT_TRUE(contains(words, "stream"));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(took.count(), 20 * kDeadlineSeconds);
    expect_usable();
  }
  EXPECT_EQ(endless.released, 2 * team_.size());
}

TEST_P(BesideSamplerTest, RefusesWorkThatBlocksTheHost) {
  Flops sound(1e6), blocking(1e6);
  blocking.blocks = true;
  EXPECT_THROW(measure(sound, blocking), BadArgument);
}

// Waits for its stream at its first two calls, as a library may that loads a kernel at the first
// and unmaps at the second what another process had freed.
class WaitsAtFirst : public Flops {
 public:
  WaitsAtFirst() : Flops(1e5) {}
  void enqueue(Rank& rank, Stream& stream) override {
    if (calls_++ < 2) stream.synchronize(1);
    Flops::enqueue(rank, stream);
  }

 private:
  int calls_ = 0;
};

TEST(BesideSampler, OfSeveralProcessesRunsBothSidesTwiceBeforeItHoldsAStream) {
  run_processes(2, [](Processes& processes) {
    const auto machine = open_machine("host");
    Team team(*machine, {}, &processes);
    WaitsAtFirst first, second;
    BesideMode mode;
    mode.warm_up_seconds = 0;
    mode.iterations = 3;
    mode.deadline_seconds = 20;
    EXPECT_NO_THROW(BesideSampler(team).measure({{first}, {second}}, mode));
  });
}

// Their clocks and users differ, yet all make as many iterations, and all know every rank's times.
TEST(BesideSampler, ProcessesAgree) {
  std::atomic<int> ran{0};
  std::vector<BesideSampling> all(3);
  run_processes(3, [&](Processes& processes) {
    const auto machine = open_machine("host");
    Team team(*machine, {}, &processes);
    Flops first(1e5), second(1e5);
    BesideMode mode;
    mode.warm_ups = 1;
    mode.warm_up_seconds = 0;
    mode.iterations = 3;
    mode.seconds = 0.02;
    mode.deadline_seconds = 20;
    auto& own = all[static_cast<std::size_t>(processes.index())];
    own = BesideSampler(team).measure({{first}, {second}}, mode);
    const auto stop = [&] { return processes.index() == 1; };
    EXPECT_THROW(BesideSampler(team, stop).measure({{first}, {second}}, mode), Interrupted);
    ran += second.ran;
  });
  for (const BesideSampling& each : all) {
    ASSERT_EQ(each.iterations.size(), all.front().iterations.size());
    for (std::size_t i = 0; i < each.iterations.size(); ++i) {
      EXPECT_EQ(each.iterations[i].together(), all.front().iterations[i].together());
      EXPECT_EQ(each.iterations[i].works[0].size(), 3u);
    }
  }
  EXPECT_EQ(ran % 3, 0);
}

INSTANTIATE_TEST_SUITE_P(Machines, BesideSamplerTest,
                         ::testing::Values("host", "host:2", "sim:mi300x-8"), machine_label);

}  // namespace
}  // namespace duet
