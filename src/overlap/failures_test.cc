// Overlaps with an engine that fails at chosen points. Each case must end in time with its error,
// and the next one must be measured.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "collectives/engine.h"
#include "core/error.h"
#include "core/message_fixture.h"
#include "overlap/cases.h"

namespace duet {
namespace {

enum class Fault { none, prepare, enqueue, wrong, never_ends };

std::atomic<Fault> fault{Fault::none};  // fault of the engine's next calls on the last rank
std::atomic<int> opened{0};

class FaultyPlan : public CollectivePlan {
 public:
  FaultyPlan(Rank& rank, std::unique_ptr<CollectivePlan> sound, const Span& received)
      : last_(rank.index == rank.size - 1),
        sound_(std::move(sound)),
        received_(received),
        word_(rank.device.allocate(sizeof(std::uint64_t))) {
    const std::uint64_t zero = 0;
    rank.device.write(word_.span(), &zero);
  }

  void enqueue(Stream& stream) override {
    if (last_ && fault == Fault::enqueue) throw Error("enqueue");
    if (last_ && fault == Fault::never_ends) stream.wait(semaphore_at(word_, 0), 1);
    sound_->enqueue(stream);
    if (last_ && fault == Fault::wrong) stream.fill(received_, {FillKind::constant, 1});
  }

 private:
  bool last_;
  std::unique_ptr<CollectivePlan> sound_;
  Span received_;
  Buffer word_;
};

class FaultySession : public CollectiveSession {
 public:
  explicit FaultySession(std::unique_ptr<CollectiveSession> sound) : sound_(std::move(sound)) {}
  std::optional<Skipped> unsupported(const Collective& collective, bool in_place) const override {
    return sound_->unsupported(collective, in_place);
  }

 protected:
  std::unique_ptr<CollectivePlan> make_plan(Rank& rank, const Collective& collective,
                                            const CollectiveBuffers& buffers,
                                            const std::vector<std::string>&) override {
    if (rank.index == rank.size - 1 && fault == Fault::prepare) throw Error("prepare");
    return std::make_unique<FaultyPlan>(rank, sound_->plan(rank, collective, buffers),
                                        buffers.recv);
  }

 private:
  std::unique_ptr<CollectiveSession> sound_;
};

// Registered under the name of the vendor's copy-engine mode, which CPUs do not have.
class FaultyEngine : public CollectiveEngine {
 public:
  std::string name() const override { return "zero-cta"; }
  std::string device_kind() const override { return "host"; }
  std::unique_ptr<CollectiveSession> open(Team& team) override {
    ++opened;
    for (CollectiveEngine* each : collective_engines("host").engines) {
      if (each->name() == "dma") return std::make_unique<FaultySession>(each->open(team));
    }
    throw Unavailable("no engine dma");
  }
};

class OverlapFailures : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_collective_engine(std::make_unique<FaultyEngine>()); }

  void SetUp() override {
    fault = Fault::none;
    OverlapOptions options;
    options.scenarios = {parse_scenario("gemm:64x64x64:fp32", "all_gather:64K")};
    options.policies = parse_policies("zero-cta,dma");
    options.runs.mode.warm_ups = 1;
    options.runs.mode.warm_up_seconds = options.runs.mode.seconds = 0;
    options.runs.mode.iterations = 2;
    options.runs.mode.deadline_seconds = 0.5;
    benchmark_ = overlap_benchmark(*machine_, options, {});
  }

  // The case's error message; "" if the case is measured.
  std::string error_of(int number) {
    return message_of<std::exception>([&] {
      const Measurement measured = benchmark_.cases.at(static_cast<std::size_t>(number)).run();
      EXPECT_TRUE(measured.sampling->verified);
    });
  }

  std::unique_ptr<Machine> machine_ = open_machine("host:2");
  Benchmark benchmark_;
};

TEST_F(OverlapFailures, EndTheirCaseAlone) {
  for (const Fault each : {Fault::prepare, Fault::enqueue, Fault::wrong, Fault::never_ends}) {
    fault = each;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_NE(error_of(0), "");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(took.count(), 10);
    EXPECT_EQ(error_of(1), "");
    fault = Fault::none;
    EXPECT_EQ(error_of(0), "");
  }
}

TEST_F(OverlapFailures, SayWhatTheyWaitedFor) {
  fault = Fault::never_ends;
  EXPECT_TRUE(contains(error_of(0), "stream"));
}

// After a fault the engine's ranks may have made different calls, so the session must be closed.
TEST_F(OverlapFailures, LeaveNoSessionToTheNextCase) {
  const int before = opened;
  EXPECT_EQ(error_of(0), "");
  EXPECT_EQ(error_of(0), "");
  EXPECT_EQ(opened, before + 1);
  fault = Fault::enqueue;
  EXPECT_NE(error_of(0), "");
  fault = Fault::none;
  EXPECT_EQ(error_of(0), "");
  EXPECT_EQ(opened, before + 2);
}

}  // namespace
}  // namespace duet
