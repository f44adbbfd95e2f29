// Grouped GEMMs: every engine of this machine and the simulated one on groups of odd sizes, groups
// without rows among them; what the Work notices; the interface for other folders.
#include "gemm/grouped.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/message_fixture.h"
#include "device/graph.h"
#include "device/machine.h"
#include "gemm/grouped_loop.h"
#include "gemm/grouped_work.h"
#include "gemm/routing.h"
#include "gemm/verification.h"
#include "timing/sampler.h"

namespace duet {
namespace {

const std::vector<std::vector<std::int64_t>> kRows = {{5},       {0},          {1, 0, 33, 0, 0, 17},
                                                      {0, 0, 8}, {3, 3, 3, 3}, {129, 1, 0, 64}};

GroupedGemmProblem grouped(std::vector<std::int64_t> rows, std::int64_t n, std::int64_t k,
                           DType dtype = DType::fp32, Layout layout = Layout::nn) {
  return {std::move(rows), n, k, dtype, default_output(dtype), layout};
}

Tuning brief_tuning() {
  Tuning tuning;
  tuning.seconds = 0.02;
  return tuning;
}

Sampling sampled(GroupedGemmEngine& engine, const GroupedGemmProblem& problem, Machine& machine) {
  Team team(machine, {0});
  GroupedGemmWork work(engine, problem, brief_tuning());
  Mode mode;
  mode.min_iterations = mode.max_iterations = 2;
  mode.warm_up_seconds = 0;
  return Sampler(team).measure(work, mode);
}

// On a machine of each kind.
class GroupedEngines : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      machine_ = open_machine(GetParam());
    } catch (const UsageError& error) {
      GTEST_SKIP() << "skipped: " << error.what();
    }
  }

  Device& device() { return machine_->device(0); }
  GroupedGemmEngines engines() { return grouped_gemm_engines(device().info().kind); }

  // Whether the engine can.
  bool run(GroupedGemmEngine& engine, const GroupedGemmProblem& problem) {
    if (engine.unsupported(device(), problem)) return false;
    SCOPED_TRACE(engine.name() + " " + name(problem));
    EXPECT_TRUE(sampled(engine, problem, *machine_).verified);
    return true;
  }

  std::unique_ptr<Machine> machine_;
};

TEST_P(GroupedEngines, MultiplyEveryGroup) {
  for (GroupedGemmEngine* engine : engines().engines) {
    int ran = 0;
    const auto run_both = [&](const std::vector<std::int64_t>& rows, DType dtype, Layout layout) {
      ran += run(*engine, grouped(rows, 37, 65, dtype, layout)) ? 1 : 0;
      ran += run(*engine, grouped(rows, 64, 96, dtype, layout)) ? 1 : 0;
    };
    if (tunes(engine->name())) {  // each number of rows takes its time
      run_both(kRows.back(), DType::bf16, Layout::nn);
      EXPECT_GT(ran, 0) << engine->name();
      continue;
    }
    for (const Layout layout : {Layout::nn, Layout::nt}) {
      for (const auto& rows : kRows) run_both(rows, DType::fp32, layout);
      for (const DType dtype : {DType::bf16, DType::fp16}) run_both(kRows.back(), dtype, layout);
    }
    EXPECT_GT(ran, 0) << engine->name();
  }
}

// Groups as an expert layer has them, most of different sizes.
TEST_P(GroupedEngines, MultiplySkewedGroups) {
  const std::vector<std::int64_t> rows = rows_of_groups(parse_routing("zipf:1.2"), 24, 13);
  EXPECT_EQ(*std::min_element(rows.begin(), rows.end()), 1);
  for (GroupedGemmEngine* engine : engines().engines) {
    if (!tunes(engine->name())) run(*engine, grouped(rows, 128, 64, DType::bf16));
  }
}

// The matrices of a test, and what plans write.
struct SmallGroups {
  explicit SmallGroups(Device& on)
      : device(on),
        a(on.allocate(bytes_of_a(problem))),
        b(on.allocate(bytes_of_b(problem))),
        c(on.allocate(bytes_of_c(problem))) {
    std::vector<float> left(3 * 4), right(3 * 4 * 4);
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = static_cast<float>(i);
    // The identity, none for the group without rows, and twice the identity.
    for (std::size_t i = 0; i < 4; ++i) right[5 * i] = 1, right[32 + 5 * i] = 2;
    device.write(a.span(), left.data());
    device.write(b.span(), right.data());
    clear();
  }

  GemmBuffers buffers() const { return {a.span(), b.span(), c.span()}; }
  void clear() { device.write(c.span(), std::vector<float>(12, -1).data()); }
  void expect_products() {
    std::vector<float> got(12);
    device.read(c.span(), got.data());
    EXPECT_EQ(got, (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 16, 18, 20, 22}));
  }

  GroupedGemmProblem problem = grouped({2, 0, 1}, 4, 4);
  Device& device;
  Buffer a, b, c;
};

TEST_P(GroupedEngines, APlanRunsOnAStreamOfTheCaller) {
  SmallGroups groups(device());
  const auto plan = plan_grouped_gemm(device(), groups.problem, groups.buffers());
  const auto stream = device().make_stream();
  Team team(*machine_, {0});
  for (int call = 0; call < 2; ++call) {
    groups.clear();
    team.each([&](Rank&) {
      plan->enqueue(*stream);
      stream->synchronize(10);
    });
    groups.expect_products();
  }
  EXPECT_GT(plan->operations(), 0u);
}

TEST_P(GroupedEngines, PlansCanBeCaptured) {
  for (GroupedGemmEngine* engine : engines().engines) {
    SCOPED_TRACE(engine->name());
    SmallGroups groups(device());
    if (engine->unsupported(device(), groups.problem)) continue;
    const auto plan = engine->plan(device(), groups.problem, groups.buffers(), brief_tuning());
    const auto stream = device().make_stream();
    const auto graph = capture(*stream, [&] { plan->enqueue(*stream); });
    groups.clear();
    Team team(*machine_, {0});
    team.each([&](Rank&) {
      graph->launch(*stream);
      stream->synchronize(10);
    });
    groups.expect_products();
  }
}

const auto kDeviceName = [](const auto& machine) {
  return machine.param.substr(0, machine.param.find(':'));
};
INSTANTIATE_TEST_SUITE_P(Machines, GroupedEngines, testing::Values("host", "sim:h200-4"),
                         kDeviceName);
INSTANTIATE_TEST_SUITE_P(Gpus, GroupedEngines, testing::Values("cuda", "hip"), kDeviceName);

double simulated_seconds(const std::string& engine, const GroupedGemmProblem& problem) {
  const auto machine = open_machine("sim:h200-4");
  for (GroupedGemmEngine* each : grouped_gemm_engines("sim").engines) {
    if (each->name() == engine) return sampled(*each, problem, *machine).samples.back();
  }
  ADD_FAILURE() << "no engine " << engine;
  return 0;
}

// 32 groups of 4 x 4 tiles or so: alone each leaves most units idle, together they fill them.
TEST(GroupedGemm, SimulatedGroupsFillTheUnitsTogether) {
  const GroupedGemmProblem problem =
      grouped(std::vector<std::int64_t>(32, 128), 1024, 4096, DType::bf16);
  EXPECT_LT(simulated_seconds("model-grouped", problem),
            0.7 * simulated_seconds("loop-model", problem));
}

TEST(GroupedGemm, SimulatedStreamsFillThemInPart) {
  const GroupedGemmProblem problem =
      grouped(std::vector<std::int64_t>(32, 128), 1024, 4096, DType::bf16);
  EXPECT_LT(simulated_seconds("streams-model", problem),
            0.9 * simulated_seconds("loop-model", problem));
}

TEST(GroupedGemm, ALoopTakesAsLongAsItsProducts) {
  const double one = simulated_seconds("loop-model", grouped({512}, 4096, 4096, DType::bf16));
  const double three =
      simulated_seconds("loop-model", grouped({512, 0, 512, 512}, 4096, 4096, DType::bf16));
  EXPECT_NEAR(three, 3 * one, 0.2 * one);
}

// Else 64 experts, each with its own number of tokens, would be tuned for a minute.
TEST(GroupedGemm, TuningAllSizesTakesAsLongAsTuningOne) {
  Tuning tuning;
  tuning.seconds = 3;
  EXPECT_DOUBLE_EQ(tuning_of_each(tuning, {512, 0, 7, 512, 9}).seconds, 1);
  EXPECT_DOUBLE_EQ(tuning_of_each(tuning, {0, 0}).seconds, 3);
  EXPECT_DOUBLE_EQ(tuning_of_each(tuning, {}).seconds, 3);
}

// What an engine may do wrong.
enum class GroupedFault { none, skips_a_group, next_matrix, writes_nothing };

class FaultyLoop : public GroupedGemmEngine {
 public:
  FaultyLoop(GroupedGemmEngine& right, GroupedFault fault) : right_(right), fault_(fault) {}
  std::string name() const override { return "faulty"; }
  std::string device_kind() const override { return "sim"; }
  std::optional<Skipped> unsupported(Device&, const GroupedGemmProblem&) const override {
    return std::nullopt;
  }
  std::unique_ptr<GroupedGemmPlan> plan(Device& device, const GroupedGemmProblem& problem,
                                        const GemmBuffers& buffers, const Tuning&) override {
    GroupedGemmProblem part = problem;
    GemmBuffers its = buffers;
    const std::size_t b = bytes_of_b(problem) / problem.groups();
    const std::uint64_t last = matrix_bytes(problem.rows.back(), problem.k, problem.dtype);
    const std::uint64_t last_of_c = matrix_bytes(problem.rows.back(), problem.n, problem.output);
    if (fault_ == GroupedFault::skips_a_group) {
      part.rows.pop_back();
      its = {buffers.a.slice(0, buffers.a.bytes - last), buffers.b.slice(0, buffers.b.bytes - b),
             buffers.c.slice(0, buffers.c.bytes - last_of_c)};
    }
    if (fault_ == GroupedFault::next_matrix) {
      part.rows = {problem.all_rows()};
      its.b = buffers.b.slice(b, b);
    }
    if (fault_ == GroupedFault::writes_nothing) {
      part.rows = {0};
      its = {buffers.a.slice(0, 0), buffers.b.slice(0, b), buffers.c.slice(0, 0)};
    }
    return right_.plan(device, part, its, {});
  }

 private:
  GroupedGemmEngine& right_;
  GroupedFault fault_;
};

TEST(GroupedGemm, AWorkWhoseCallsBlockRunsWithoutTheGate) {
  class Blocking : public FaultyLoop {
   public:
    using FaultyLoop::FaultyLoop;
    std::unique_ptr<GroupedGemmPlan> plan(Device&, const GroupedGemmProblem&, const GemmBuffers&,
                                          const Tuning&) override {
      struct Plan : GroupedGemmPlan {
        void enqueue(Stream&) override {}
        std::size_t operations() const override { return 1; }
        bool blocks() const override { return true; }
      };
      return std::make_unique<Plan>();
    }
  };
  const auto machine = open_machine("sim:h200-4");
  Team team(*machine, {0});
  Blocking engine(*grouped_gemm_engines("sim").engines.front(), GroupedFault::none);
  GroupedGemmWork work(engine, grouped({2}, 3, 4));
  EXPECT_FALSE(work.host_driven());
  team.each([&](Rank& rank) { work.prepare(rank, {}); });
  EXPECT_TRUE(work.host_driven());
}

TEST(GroupedGemm, CostsNoMatrixOfAnEmptyGroup) {
  const GroupedGemmProblem problem = grouped({2, 0, 3}, 5, 7, DType::bf16);
  EXPECT_DOUBLE_EQ(flop(problem), 2.0 * 5 * 5 * 7);
  EXPECT_DOUBLE_EQ(bytes(problem), 2.0 * (5 * 7 + 2 * 5 * 7 + 5 * 5));
  EXPECT_EQ(problem.rows_of_largest(), 3);
  EXPECT_EQ(problem.first_row(2), 2);
}

// So that no engine takes a kernel that reads beyond what rows are aligned to.
TEST(GroupedGemm, TellsHowItsPartsAreAligned) {
  EXPECT_EQ(product_of(grouped({1, 1}, 128, 7168, DType::bf16), 1).alignment, 256);
  EXPECT_EQ(product_of(grouped({1, 1}, 2880, 2880, DType::bf16), 1).alignment, 128);
  EXPECT_EQ(product_of(grouped({1, 1}, 128, 65, DType::bf16), 1).alignment, 2);
  EXPECT_EQ(product_of(grouped({1, 1}, 37, 64), 1).alignment, 4);
}

TEST(GroupedGemm, TheWorkNoticesWrongGroups) {
  const GroupedGemmProblem problem = grouped({3, 4, 5}, 6, 7);
  const auto machine = open_machine("sim:h200-4");
  GroupedGemmEngine& right = *grouped_gemm_engines("sim").engines.front();
  FaultyLoop faultless(right, GroupedFault::none);
  EXPECT_TRUE(sampled(faultless, problem, *machine).verified);
  FaultyLoop idle(right, GroupedFault::writes_nothing), other(right, GroupedFault::next_matrix),
      incomplete(right, GroupedFault::skips_a_group);
  EXPECT_THROW(sampled(idle, problem, *machine), Mismatch);
  EXPECT_THROW(sampled(incomplete, problem, *machine), Mismatch);
  const std::string message = message_of<Mismatch>([&] { sampled(other, problem, *machine); });
  EXPECT_TRUE(contains(message, "group 0 of 3 rows: C(0, 0)")) << message;
}

TEST(GroupedGemm, RefusesWhatDoesNotFit) {
  const auto machine = open_machine("sim:h200-4");
  Device& device = machine->device(0);
  GroupedGemmProblem problem = grouped({2, 1}, 3, 2);
  const Buffer a = device.allocate(bytes_of_a(problem)), b = device.allocate(bytes_of_b(problem)),
               c = device.allocate(bytes_of_c(problem));
  const GemmBuffers buffers{a.span(), b.span(), c.span()};
  EXPECT_NO_THROW(check(problem, buffers));
  const auto refused = [&] {
    return message_of<BadArgument>([&] { plan_grouped_gemm(device, problem, buffers); });
  };
  problem.rows = {2, 2};
  EXPECT_TRUE(contains(refused(), "A has 24 bytes, expected 32"));
  problem.rows = {4, -1};
  EXPECT_TRUE(contains(refused(), "less than 0"));
  problem = grouped({2, 1}, 3, 2, DType::fp32, Layout::tn);
  EXPECT_TRUE(contains(refused(), "nn or nt"));
}

}  // namespace
}  // namespace duet
