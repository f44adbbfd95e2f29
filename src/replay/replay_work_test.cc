// A step gives the right results on every kind of device, and its calls run in the recorded order.
#include "replay/replay_work.h"

#include <gtest/gtest.h>

#include "collectives/engine.h"
#include "core/error.h"
#include "core/label_fixture.h"
#include "device/machine.h"
#include "gemm/first_engine.h"
#include "team/team_fixture.h"
#include "timing/sampler.h"
#include "timing/short_mode_fixture.h"
#include "timing/statistics.h"

namespace duet {
namespace {

RecordedCall gemm_call(std::int64_t side) {
  GemmProblem problem{side, side, side, DType::fp32, DType::fp32, Layout::nt};
  return {problem};
}

RecordedCall collective_call(CollectiveKind kind, DType dtype, std::uint64_t bytes) {
  RecordedCollective one;
  one.kind = kind;
  one.dtype = dtype;
  one.sent = one.received = bytes;
  return {one};
}

const RecordedCall kWait = {RecordedWait{}};

ReplayStep step_of_calls(const std::vector<RecordedCall>& calls, int ranks) {
  RecordedTrace trace;
  trace.calls = calls;
  return replay_step(trace, ranks);
}

// Median seconds of the step, in virtual time on simulated machines.
double seconds_of(Team& team, const ReplayStep& step, const char* engine, ReplayOrder order,
                  const GraphUse& graph = {}) {
  std::vector<GemmEngine*> gemms;
  for (const ReplayGemm& each : step.gemms)
    gemms.push_back(&first_gemm_engine(team.device(0), "", {each.problem}, "test"));
  const auto session = engines_named(team.machine(), {engine}).front()->open(team);
  Tuning tuning;
  tuning.seconds = 0.01;
  ReplayPlans plans(team, step, gemms, session.get(), tuning);
  ReplayWork work(team, plans, order, graph);
  ReplayWork alone(team, plans, ReplayOrder::collectives, graph);  // shares the plans
  const auto sampled = Sampler(team).measure_by_turns({&work, &alone}, short_mode(2));
  for (const Sampling& each : sampled) {
    EXPECT_TRUE(each.verified) << (each.warnings.empty() ? "" : each.warnings.front());
  }
  return summarise(sampled.front().samples).median;
}

using ReplayWorkTest = OnATeam;

// Kinds, types and sizes that share the two buffers.
TEST_P(ReplayWorkTest, AllCallsAreRight) {
  const ReplayStep step = step_of_calls(
      {gemm_call(48), collective_call(CollectiveKind::all_reduce, DType::bf16, 20000), kWait,
       gemm_call(96), collective_call(CollectiveKind::all_gather, DType::int8, 9999),
       collective_call(CollectiveKind::reduce_scatter, DType::fp32, 65536), gemm_call(48), kWait,
       collective_call(CollectiveKind::all_to_all, DType::bf16, 4096),
       collective_call(CollectiveKind::broadcast, DType::int8, 777),
       collective_call(CollectiveKind::send_recv, DType::bf16, 30000), gemm_call(33)},
      team_->size());
  for (const char* engine : {"dma", "kernel"}) {
    for (const ReplayOrder order : {ReplayOrder::serial, ReplayOrder::overlapped}) {
      SCOPED_TRACE(std::string(engine) + " " + name(order));
      seconds_of(*team_, step, engine, order);
      seconds_of(*team_, step, engine, order, {2, 2});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, ReplayWorkTest,
                         ::testing::Values("host:2", "host:3", "sim:h200:devices=2", "cuda"),
                         machine_label);

// In virtual time, where a call takes equally long however often it is made.
class ReplayOrderTest : public ::testing::Test {
 protected:
  double seconds(const std::vector<RecordedCall>& calls, ReplayOrder order) {
    const ReplayStep step = step_of_calls(calls, team_.size());
    return seconds_of(team_, step, "dma", order);
  }
  // By how much the step is shorter if it may overlap, as a share of its collectives' time.
  double hidden(const std::vector<RecordedCall>& calls) {
    const double serial = seconds(calls, ReplayOrder::serial);
    return (serial - seconds(calls, ReplayOrder::overlapped)) /
           seconds(calls, ReplayOrder::collectives);
  }

  const std::unique_ptr<Machine> machine_ = open_machine("sim:h200:devices=2");
  Team team_{*machine_};
  const RecordedCall gemm_ = gemm_call(256);
  const RecordedCall collective_ = collective_call(CollectiveKind::all_gather, DType::int8, 65536);
};

TEST_F(ReplayOrderTest, ACollectiveStartsBehindEarlierGemms) {
  EXPECT_NEAR(hidden({gemm_, gemm_, collective_}), 0, 0.01);
}

TEST_F(ReplayOrderTest, GemmsWaitWhereTheTraceDoes) {
  EXPECT_NEAR(hidden({collective_, kWait, gemm_, gemm_, gemm_, gemm_}), 0, 0.01);
}

TEST_F(ReplayOrderTest, GemmsRunBesideACollectiveThatIsNotAwaited) {
  EXPECT_GT(hidden({collective_, gemm_, gemm_, gemm_, gemm_}), 0.5);
}

TEST_F(ReplayOrderTest, TheStepEndsWithItsLastCollective) {
  const std::vector<RecordedCall> calls = {collective_, collective_, collective_, collective_,
                                           collective_, collective_, gemm_};
  EXPECT_GE(seconds(calls, ReplayOrder::overlapped),
            0.99 * seconds(calls, ReplayOrder::collectives));
}

TEST(ReplayPlansTest, WaitsNameTheirCollective) {
  const auto numbered = [](const char* group, std::int64_t number) {
    RecordedCollective one;
    one.sent = one.received = 64;
    one.group = group;
    one.number = number;
    return RecordedCall{one};
  };
  const auto wait = [](const char* group, std::optional<std::int64_t> number) {
    return RecordedCall{RecordedWait{group, number}};
  };
  const ReplayStep step = step_of_calls({numbered("a", 1), numbered("b", 1), numbered("a", 2),
                                         wait("b", 1), wait("a", 1), wait("c", 1), wait("a", {})},
                                        2);
  std::vector<std::size_t> awaited;
  for (const ReplayCall& call : step.calls) {
    if (call.kind == ReplayCall::Kind::wait) awaited.push_back(call.index);
  }
  EXPECT_EQ(awaited, (std::vector<std::size_t>{2, 3}));  // the first is there when the second is
}

}  // namespace
}  // namespace duet
