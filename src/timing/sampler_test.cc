// The sampler on real and simulated machines, with Works that fail at chosen points.
#include "timing/sampler.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "core/label_fixture.h"
#include "core/message_fixture.h"
#include "team/processes_fixture.h"

namespace duet {
namespace {

enum class Point { nowhere, prepare, enqueue, body, verify };

// A task that counts the calls of each function; fails at a chosen point on a chosen rank.
class FragileWork : public Work {
 public:
  explicit FragileWork(Point point, int rank = 0) : point_(point), rank_(rank) {}
  std::string name() const override { return "fragile"; }
  Cost cost() const override { return {}; }
  void prepare(Rank& rank, const Placement&) override {
    fail(rank, Point::prepare);
    ++prepared;
  }
  void enqueue(Rank& rank, Stream& stream) override {
    fail(rank, Point::enqueue);
    const int index = rank.index;
    stream.run({"fragile", {1e9, DType::fp32, 0, 0, 1}, [this, index] {
                  ++ran;
                  if (point_ == Point::body && index == rank_) throw Mismatch("body");
                }});
  }
  void renew(Rank&) override { ++renewed; }
  std::optional<Skipped> verify(Rank& rank) override {
    fail(rank, Point::verify);
    return {};
  }
  void release(Rank&) noexcept override { ++released; }

  std::atomic<int> prepared{0}, ran{0}, renewed{0}, released{0};

 private:
  void fail(const Rank& rank, Point here) const {
    if (point_ == here && rank.index == rank_) throw Mismatch("chosen point");
  }
  Point point_;
  int rank_;
};

class SamplerTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Machine> machine_ = open_machine(GetParam());
  Team team_{*machine_};
  Sampler sampler_{team_};
  Mode mode_ = [] {
    Mode mode;
    mode.seconds = 0.05;
    mode.deadline_seconds = 20;
    return mode;
  }();
};

TEST_P(SamplerTest, MeasuresAndReleasesEveryRank) {
  FragileWork work(Point::nowhere);
  const Sampling s = sampler_.measure(work, mode_);
  EXPECT_GE(s.samples.size(), 3u);
  EXPECT_TRUE(s.verified);
  EXPECT_EQ(work.prepared, team_.size());
  EXPECT_EQ(work.released, team_.size());
  EXPECT_EQ(work.ran, team_.size() * (2 + s.warm_ups + static_cast<int>(s.samples.size())));
  EXPECT_EQ(work.renewed, team_.size());
}

TEST_P(SamplerTest, RunsAgainAfterItsSamples) {
  FragileWork work(Point::nowhere);
  sampler_.measure(work, mode_, {}, [&](const RunAgain& again) {
    const int before = work.ran;
    const Rerun rerun = again();
    EXPECT_GE(rerun.iterations, 1);
    EXPECT_GT(rerun.seconds, 0);
    EXPECT_EQ(work.ran, before + team_.size() * rerun.iterations);
    EXPECT_EQ(work.released, 0);
  });
}

TEST_P(SamplerTest, ReleasesAfterAFailureAnywhere) {
  for (Point point : {Point::prepare, Point::enqueue, Point::body, Point::verify}) {
    FragileWork work(point, team_.size() - 1);
    EXPECT_THROW(sampler_.measure(work, mode_), Mismatch) << static_cast<int>(point);
    EXPECT_EQ(work.released, team_.size());
  }
  FragileWork sound(Point::nowhere);
  EXPECT_TRUE(sampler_.measure(sound, mode_).verified);
}

// Waits for its stream at the first calls of enqueue(), as a vendor's library does that loads a
// kernel. Behind a stream that the start gate holds, the wait would never end.
class LazilyLoaded : public FragileWork {
 public:
  explicit LazilyLoaded(int calls) : FragileWork(Point::nowhere), calls_(calls) {}
  void enqueue(Rank& rank, Stream& stream) override {
    if (made_[static_cast<std::size_t>(rank.index)]++ < calls_) stream.synchronize(1);
    FragileWork::enqueue(rank, stream);
  }

 private:
  int calls_;
  std::array<std::atomic<int>, 8> made_{};
};

TEST_P(SamplerTest, RunsAWorkOnceBeforeItHoldsAStream) {
  LazilyLoaded work(1);
  EXPECT_NO_THROW(sampler_.measure(work, mode_));
}

// At its second call a library may unmap what another process had freed before the first.
TEST(Sampler, OfSeveralProcessesRunsAWorkTwiceBeforeItHoldsAStream) {
  run_processes(2, [](Processes& processes) {
    const auto machine = open_machine("host");
    Team team(*machine, {}, &processes);
    LazilyLoaded work(2);
    Mode mode;
    mode.seconds = 0.02;
    mode.deadline_seconds = 20;
    EXPECT_NO_THROW(Sampler(team).measure(work, mode));
  });
}

// Blocks at every enqueue() except the first, as a library does that takes a lock of the device.
class Blocking : public FragileWork {
 public:
  explicit Blocking(bool says_so) : FragileWork(Point::nowhere), says_so_(says_so) {}
  bool host_driven() const override { return says_so_; }
  void enqueue(Rank& rank, Stream& stream) override {
    FragileWork::enqueue(rank, stream);
    if (calls_++ >= rank.size) stream.synchronize(10);
  }

 private:
  bool says_so_;
  std::atomic<int> calls_{0};
};

TEST_P(SamplerTest, OpensTheGateByForceWhereAWorkBlocksBehindIt) {
  mode_.deadline_seconds = 0.2;
  Blocking work(false);
  const std::string text = message_of<Timeout>([&] { sampler_.measure(work, mode_); });
  EXPECT_NE(text, "");
  EXPECT_TRUE(machine_->is_virtual() || contains(text, "start gate"));
  EXPECT_EQ(work.released, team_.size());
}

TEST_P(SamplerTest, HoldsNothingWhereAWorkSaysThatItBlocks) {
  Blocking work(true);
  EXPECT_TRUE(sampler_.measure(work, mode_).verified);
}

// Blocks at an enqueue() that finds two others before it in the queue.
class FullQueue : public FragileWork {
 public:
  FullQueue() : FragileWork(Point::nowhere) {}
  int most_queued() const override { return 2; }
  void enqueue(Rank& rank, Stream& stream) override {
    std::atomic<int>& queued = queued_[static_cast<std::size_t>(rank.index)];
    if (queued == most_queued()) stream.synchronize(10);
    ++queued;
    stream.run({"queued", {1e9, DType::fp32, 0, 0, 1}, [&queued] { --queued; }});
  }

 private:
  std::array<std::atomic<int>, 8> queued_{};
};

TEST_P(SamplerTest, EnqueuesBehindTheGateWhatFitsIntoTheQueue) {
  mode_.deadline_seconds = 5;
  mode_.min_iterations = 8;
  FullQueue work;
  EXPECT_GE(sampler_.measure(work, mode_).samples.size(), 8u);
}

// In every mode, the flush takes time between the iterations and does not count in the samples.
TEST_P(SamplerTest, FlushesBeforeEachIterationAndDoesNotCountIt) {
  if (!machine_->is_virtual()) GTEST_SKIP() << "times of a real machine are not asserted";
  for (ModeKind kind :
       {ModeKind::adaptive, ModeKind::do_bench, ModeKind::loop, ModeKind::at_least}) {
    FragileWork work(Point::nowhere);
    mode_.kind = kind;
    mode_.seconds = 1e-4;
    mode_.max_iterations = 2;
    mode_.flush = false;
    const double plain = sampler_.measure(work, mode_).samples.front();
    mode_.flush = true;
    const int before = work.ran;
    const double begin = machine_->now();
    const Sampling s = sampler_.measure(work, mode_);
    const double each = (machine_->now() - begin) * team_.size() / (work.ran - before);
    EXPECT_NEAR(s.samples.front(), plain, 0.01 * plain) << name(kind);
    EXPECT_GT(each, 2 * plain) << name(kind);  // 512 MiB at some 4 TB/s beside a few us
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, SamplerTest, ::testing::Values("host", "host:2", "sim:mi300x-8"),
                         machine_label);

}  // namespace
}  // namespace duet
