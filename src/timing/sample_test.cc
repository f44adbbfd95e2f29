// The measuring loop with a fake clock and a trial that throws at chosen points.
#include <gtest/gtest.h>

#include "core/random.h"
#include "timing/sampler.h"

namespace duet {
namespace {

// Each iteration takes `seconds` of fake time, varied by the relative amount `noise`.
class FakeTrial : public Trial {
 public:
  explicit FakeTrial(double seconds, double noise = 0) : seconds_(seconds), noise_(noise) {}

  std::vector<double> run(int iterations, bool grouped) override {
    ++batches;
    largest_batch = std::max(largest_batch, iterations);
    if (batches == throw_at) throw Error("the work failed");
    std::vector<double> samples;
    for (int i = 0; i < iterations; ++i) {
      const double t = seconds_ * (1 + noise_ * random_normal(1, counter_++));
      clock += t;
      samples.push_back(t);
    }
    if (!grouped) return samples;
    double sum = 0;
    for (double t : samples) sum += t;
    return {sum / iterations};
  }
  double now() override { return clock; }
  void reading(std::vector<Telemetry>& readings) override { readings.push_back({}); }

  double clock = 0;
  int batches = 0;
  int largest_batch = 0;
  int throw_at = -1;

 private:
  double seconds_, noise_;
  std::uint64_t counter_ = 0;
};

TEST(Sample, SteadyWorkStopsByInterval) {
  FakeTrial trial(1e-3);
  const Sampling s = sample(trial, Mode{});
  EXPECT_EQ(s.stopped_by, "interval");
  EXPECT_GE(s.samples.size(), 9u);
  EXPECT_LT(s.samples.size(), 60u);
  EXPECT_EQ(s.mode, "adaptive");
}

TEST(Sample, WarmUpLastsAsLongAsAsked) {
  FakeTrial trial(1e-3);
  const Sampling s = sample(trial, Mode{});
  EXPECT_GE(s.warm_ups, 29);
  EXPECT_LE(s.warm_ups, 35);
}

TEST(Sample, NoisyWorkStopsByTime) {
  FakeTrial trial(1e-3, 0.3);
  Mode mode;
  mode.relative_interval = 1e-4;
  const Sampling s = sample(trial, mode);
  EXPECT_EQ(s.stopped_by, "time");
  EXPECT_NEAR(static_cast<double>(s.samples.size()), 500, 60);
}

TEST(Sample, SlowWorkGetsAFairNumberOfSamplesWithinFourTimesItsTime) {
  FakeTrial slow(0.05, 0.1), slower(0.15, 0.1);
  const Sampling fair = sample(slow, Mode{});
  EXPECT_EQ(fair.samples.size(), 24u);
  EXPECT_EQ(fair.stopped_by, "time");
  const Sampling few = sample(slower, Mode{});
  EXPECT_LT(few.samples.size(), 24u);
  EXPECT_GT(few.samples.size(), 9u);
  EXPECT_EQ(few.stopped_by, "time");
}

// Calls of 10 ms that are 5% longer in the beginning, and settle within about `decay` calls.
class SettlingTrial : public FakeTrial {
 public:
  explicit SettlingTrial(double decay) : FakeTrial(1e-2, 0.001), decay_(decay) {}

  std::vector<double> run(int iterations, bool grouped) override {
    std::vector<double> samples = FakeTrial::run(iterations, grouped);
    for (double& one : samples) one *= 1 + 0.05 * std::exp(-calls_++ / decay_);
    return samples;
  }

 private:
  double decay_;
  int calls_ = 0;
};

TEST(Sample, DriftIsWaitedForAndSaid) {
  SettlingTrial settles(15), goes_on(100);
  const Sampling settled = sample(settles, Mode{});
  EXPECT_GT(settled.samples.size(), 55u);
  EXPECT_LT(settled.samples.size(), 190u);
  EXPECT_EQ(settled.stopped_by, "time");
  EXPECT_FALSE(summarise(settled.samples).drifting);
  const Sampling drifting = sample(goes_on, Mode{});
  EXPECT_GE(drifting.samples.size(), 190u);
  EXPECT_EQ(drifting.stopped_by, "time");
  EXPECT_TRUE(summarise(drifting.samples).drifting);
}

TEST(Sample, FewSamplesStopOnlyWhereTheyAreMuchNarrowerThanAsked) {
  FakeTrial steady(2e-3, 0.0005), noisy(2e-3, 0.01);
  const Sampling few = sample(steady, Mode{}), many = sample(noisy, Mode{});
  EXPECT_EQ(few.stopped_by, "interval");
  EXPECT_LT(few.samples.size(), 64u);
  EXPECT_EQ(many.stopped_by, "interval");
  EXPECT_GT(many.samples.size(), 64u);
}

TEST(Sample, MaxIterationsHold) {
  FakeTrial trial(1e-6, 0.3);
  Mode mode;
  mode.relative_interval = 0;
  mode.max_iterations = 100;
  const Sampling s = sample(trial, mode);
  EXPECT_EQ(s.stopped_by, "iterations");
  EXPECT_EQ(s.samples.size(), 100u);
}

TEST(Sample, VerySlowWorkGetsAFewSamplesOnly) {
  FakeTrial trial(30);
  const Sampling s = sample(trial, Mode{});
  EXPECT_EQ(s.stopped_by, "time");
  EXPECT_EQ(s.samples.size(), 3u);
  EXPECT_EQ(s.warm_ups, 1);
}

TEST(Sample, WorkOfNoLengthEnds) {
  for (ModeKind kind :
       {ModeKind::adaptive, ModeKind::do_bench, ModeKind::loop, ModeKind::at_least}) {
    FakeTrial trial(0);
    Mode mode;
    mode.kind = kind;
    mode.max_iterations = 50;
    EXPECT_FALSE(sample(trial, mode).samples.empty()) << name(kind);
  }
}

TEST(Sample, BatchesStayShort) {
  FakeTrial fast(1e-7), slow(0.5);
  sample(fast, Mode{});
  EXPECT_LE(fast.largest_batch, 64);
  sample(slow, Mode{});
  EXPECT_EQ(slow.largest_batch, 1);
}

TEST(Sample, DoBenchCountsByTime) {
  FakeTrial trial(1e-3);
  const Sampling s = sample(trial, do_bench_mode());
  EXPECT_NEAR(static_cast<double>(s.samples.size()), 200, 1);
  EXPECT_TRUE(s.flushed);
  EXPECT_EQ(s.stopped_by, "time");
}

TEST(Sample, LoopGroupsItsCalls) {
  FakeTrial trial(1e-3);
  const Sampling s = sample(trial, loop_mode());
  EXPECT_EQ(s.samples.size(), 5u);
  EXPECT_NEAR(s.samples.front(), 1e-3, 1e-9);
  EXPECT_NEAR(trial.clock, 1e-3 * (s.warm_ups + 100), 1e-6);
}

TEST(Sample, LoopsOfManyCallsAreHandedOverInGroups) {
  FakeTrial trial(1e-5);
  Mode mode = loop_mode();
  mode.iterations = 1000;
  const Sampling s = sample(trial, mode);
  EXPECT_EQ(s.samples.size(), 5u);
  EXPECT_LE(trial.largest_batch, 64);
  EXPECT_NEAR(trial.clock, 1e-5 * (s.warm_ups + 5000), 1e-6);
}

TEST(Sample, DoBenchSaysThatItsIterationsRanOut) {
  FakeTrial trial(1e-3);
  Mode mode = do_bench_mode();
  mode.max_iterations = 5;
  const Sampling s = sample(trial, mode);
  EXPECT_EQ(s.samples.size(), 5u);
  EXPECT_EQ(s.stopped_by, "iterations");
}

TEST(Sample, AtLeastASecondIsOneMean) {
  FakeTrial trial(3e-3, 0.1);
  const Sampling s = sample(trial, at_least_mode());
  EXPECT_EQ(s.samples.size(), 1u);
  EXPECT_NEAR(s.samples.front(), 3e-3, 1e-4);
  EXPECT_GE(trial.clock, 1.0);
}

TEST(Sample, SustainedReadsTelemetryEveryWindow) {
  FakeTrial trial(1e-3);
  const Sampling s = sample(trial, sustained_mode());
  EXPECT_NEAR(static_cast<double>(s.samples.size()), 100, 10);
  EXPECT_EQ(s.telemetry.size(), s.samples.size() + 2);  // before and after
  EXPECT_GE(trial.clock, 10.0);
}

TEST(Sample, AnErrorEndsTheLoopWhereverItComes) {
  for (int point = 1; point <= 4; ++point) {
    FakeTrial trial(1e-3, 0.3);
    trial.throw_at = point;
    EXPECT_THROW(sample(trial, Mode{}), Error) << point;
    EXPECT_EQ(trial.batches, point);
  }
}

TEST(Sample, StopIsHeardBetweenBatches) {
  FakeTrial trial(1e-3, 0.3);
  EXPECT_THROW(sample(trial, Mode{}, [&] { return trial.batches >= 3; }), Interrupted);
  EXPECT_EQ(trial.batches, 3);
}

}  // namespace
}  // namespace duet
