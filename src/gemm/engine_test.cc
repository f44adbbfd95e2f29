// Every engine of this machine on odd shapes, dtypes and layouts; the simulated engine; the cases.
#include "gemm/engine.h"

#include <gtest/gtest.h>

#include <set>

#include "core/message_fixture.h"
#include "gemm/cases.h"
#include "gemm/gemm_work.h"
#include "timing/sampler.h"

namespace duet {
namespace {

Mode brief() {
  Mode mode;
  mode.min_iterations = 2;
  mode.max_iterations = 2;
  mode.warm_up_seconds = 0;
  return mode;
}

const char* kOddShapes[] = {"1x1x1",     "1x33x7",     "17x1x64", "14x32x256",
                            "15x33x257", "97x131x515", "64x64x1", "250x300x1031"};

void run_all(const std::string& device, const std::string& kind) {
  const auto machine = open_machine(device);
  for (GemmEngine* engine : gemm_engines(kind).engines) {
    int ran = 0;
    for (DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::int8}) {
      for (Layout layout : {Layout::nn, Layout::nt, Layout::tn}) {
        for (const char* text : kOddShapes) {
          const GemmShape s = parse_shapes(text).front();
          GemmProblem p{s.m, s.n, s.k, dtype, default_output(dtype), layout};
          p.accumulate = s.k % 2 == 1;
          if (engine->unsupported(machine->device(0), p)) continue;
          Team team(*machine, {0});
          GemmWork work(*engine, p);
          SCOPED_TRACE(engine->name() + " " + name(p));
          EXPECT_TRUE(Sampler(team).measure(work, brief()).verified);
          ++ran;
        }
      }
    }
    EXPECT_GT(ran, 0) << engine->name() << " ran nothing";
  }
}

TEST(HostEngines, MultiplyEveryTypeAndLayout) { run_all("host", "host"); }

// Two sets of matrices, one plan.
TEST(HostEngines, APlanMultipliesAnyBuffers) {
  const auto machine = open_machine("host");
  Device& device = machine->device(0);
  const GemmProblem p{5, 6, 7, DType::fp32, DType::fp32, Layout::tn};
  const auto stream = device.make_stream();
  for (GemmEngine* engine : gemm_engines("host").engines) {
    std::unique_ptr<GemmPlan> plan;
    for (const std::uint64_t seed : {1, 2}) {
      const Buffer a = device.allocate(4 * 5 * 7), b = device.allocate(4 * 6 * 7),
                   c = device.allocate(4 * 5 * 6);
      const GemmBuffers buffers{a.span(), b.span(), c.span()};
      stream->fill(a.span(), {FillKind::normal, seed, 0, DType::fp32});
      stream->fill(b.span(), {FillKind::normal, seed + 7, 0, DType::fp32});
      stream->synchronize(10);
      if (plan == nullptr) plan = engine->plan(device, p, buffers, {});
      plan->enqueue(*stream, buffers);
      stream->synchronize(10);
      const std::vector<double> expected = gemm_reference("host")(device, p, buffers, {0, 4});
      const auto* got = reinterpret_cast<const float*>(c.span().data);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::size_t row = i < 6 ? 0 : 4;
        EXPECT_NEAR(got[row * 6 + i % 6], expected[i], 1e-4) << engine->name();
      }
    }
  }
}

TEST(HostEngines, WorkOnPartOfTheCores) {
  const auto machine = open_machine("host:2");
  const GemmProblem p{65, 70, 75, DType::fp32, DType::fp32, Layout::nn};
  for (GemmEngine* engine : gemm_engines("host").engines) {
    if (engine->unsupported(machine->device(1), p)) continue;
    Team team(*machine, {1});
    GemmWork work(*engine, p);
    EXPECT_TRUE(Sampler(team).measure(work, brief()).verified) << engine->name();
  }
}

TEST(HostEngines, SayWhyTheyCannot) {
  const auto machine = open_machine("host");
  const GemmProblem p{8, 8, 8, DType::fp8_e4m3, DType::bf16, Layout::nn};
  for (GemmEngine* engine : gemm_engines("host").engines) {
    const auto skipped = engine->unsupported(machine->device(0), p);
    ASSERT_TRUE(skipped) << engine->name();
    EXPECT_FALSE(skipped->reason.empty());
  }
}

TEST(ModelEngine, SmallProductsVerifyAndLargeOnesSayWhyNot) {
  const auto machine = open_machine("sim:mi300x-8");
  GemmEngine& model = *gemm_engines("sim").engines.at(0);
  Team team(*machine, {0});
  GemmWork small(model, {65, 33, 129, DType::bf16, DType::bf16, Layout::nt});
  EXPECT_TRUE(Sampler(team).measure(small, brief()).verified);
  GemmWork large(model, {8192, 8192, 8192, DType::bf16, DType::bf16, Layout::nn});
  const Sampling sampling = Sampler(team).measure(large, brief());
  EXPECT_FALSE(sampling.verified);
  ASSERT_FALSE(sampling.warnings.empty());
}

TEST(ModelEngine, TakesAsLongOnEveryRun) {
  std::vector<double> seconds;
  for (int i = 0; i < 2; ++i) {
    const auto machine = open_machine("sim:mi300x-8");
    Team team(*machine, {0});
    GemmWork work(*gemm_engines("sim").engines.at(0),
                  {16384, 8192, 7168, DType::bf16, DType::bf16, Layout::nn});
    seconds.push_back(Sampler(team).measure(work, brief()).samples.back());
  }
  EXPECT_EQ(seconds[0], seconds[1]);
  // No faster than the data sheet's peak, 1307.4 TFLOP/s.
  EXPECT_GT(seconds[0], 2.0 * 16384 * 8192 * 7168 / 1307.4e12);
}

TEST(Engines, UnknownKindsHaveNone) {
  EXPECT_TRUE(gemm_engines("abacus").engines.empty());
  EXPECT_THROW(gemm_reference("abacus"), Unavailable);
}

GemmOptions options_on_sim() {
  GemmOptions options;
  options.device_name = "sim:mi300x-8";
  options.mode = brief();
  options.shapes = parse_shapes("seed,llama");
  options.dtypes = {DType::bf16, DType::int8};
  options.layouts = {Layout::nn, Layout::nt};
  return options;
}

TEST(Cases, HaveTheAxesOfTheSchemaAndNoRepetition) {
  const auto machine = open_machine("sim:mi300x-8");
  const Benchmark benchmark = gemm_benchmark(*machine, options_on_sim(), {});
  EXPECT_EQ(benchmark.cases.size(), options_on_sim().shapes.size() * 2 * 2);
  for (const Case& one : benchmark.cases) {
    EXPECT_EQ(one.id.benchmark, "gemm");
    EXPECT_EQ(one.id.device, "sim:mi300x-8");
    EXPECT_EQ(one.id.engine, "model");
    std::vector<std::string> names;
    for (const auto& axis : one.id.axes) names.push_back(axis.first);
    EXPECT_EQ(names,
              (std::vector<std::string>{"m", "n", "k", "dtype", "output", "layout", "sets"}));
  }
  EXPECT_TRUE(benchmark.conclude({}).empty());
}

TEST(Cases, WhatCannotRunIsSkippedWithAReason) {
  const auto machine = open_machine("sim:mi300x-8");
  GemmOptions options = options_on_sim();
  options.dtypes = {DType::int32};
  options.shapes = parse_shapes("64x64x64");
  const Benchmark benchmark = gemm_benchmark(*machine, options, {});
  const Measurement result = benchmark.cases.at(0).run();
  EXPECT_FALSE(result.sampling);
  ASSERT_TRUE(result.skipped);
  EXPECT_FALSE(result.skipped->reason.empty());
}

TEST(Cases, TooLargeIsSkipped) {
  const auto machine = open_machine("host");
  GemmOptions options;
  options.shapes = parse_shapes("4194304x4194304x4194304");
  options.engines = {"onednn"};
  options.dtypes = {DType::fp32};
  const Benchmark benchmark = gemm_benchmark(*machine, options, {});
  const Measurement result = benchmark.cases.back().run();
  EXPECT_TRUE(result.skipped);
}

TEST(Cases, MeasureTheModelWithItsAlgorithmNoted) {
  const auto machine = open_machine("sim:mi300x-8");
  GemmOptions options = options_on_sim();
  options.dtypes = {DType::bf16};
  const Measurement result = gemm_benchmark(*machine, options, {}).cases.at(0).run();
  ASSERT_TRUE(result.sampling);
  EXPECT_GT(result.cost.flop, 0);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(result.notes[0].first, "algorithm");
}

// "duet" is an engine of earlier versions, which old journals and scripts name.
TEST(Cases, AnEngineThatIsGoneSaysWhatToUseInstead) {
  const auto machine = open_machine("host");
  GemmOptions options;
  options.shapes = parse_shapes("64x64x64");
  options.engines = {"duet"};
  EXPECT_TRUE(contains(message_of<UsageError>([&] { gemm_benchmark(*machine, options, {}); }),
                       "use onednn"));
}

TEST(Cases, AnUnknownEngineIsAUsageErrorThatListsTheKnown) {
  const auto machine = open_machine("sim:mi300x-8");
  GemmOptions options = options_on_sim();
  options.engines = {"cublas"};
  EXPECT_TRUE(
      contains(message_of<UsageError>([&] { gemm_benchmark(*machine, options, {}); }), "model"));
}

TEST(Cases, EveryDeviceByItself) {
  const auto machine = open_machine("sim:mi300x-8");
  GemmOptions options = options_on_sim();
  options.each_device = true;
  options.shapes = parse_shapes("4096x4096x4096");
  std::set<std::string> devices;
  for (const Case& one : gemm_benchmark(*machine, options, {}).cases) devices.insert(one.id.device);
  EXPECT_EQ(devices.size(), 8u);
}

TEST(Cases, TheSearchReportsItsBestShape) {
  const auto machine = open_machine("sim:mi300x-8");
  GemmOptions options = options_on_sim();
  options.shapes.clear();
  options.dtypes = {DType::bf16};
  options.layouts = {Layout::nn};
  options.search = true;
  const Benchmark benchmark = gemm_benchmark(*machine, options, {});
  ASSERT_EQ(benchmark.cases.size(), 1u);
  EXPECT_EQ(benchmark.cases[0].id.benchmark, "gemm_search");
  const Measurement result = benchmark.cases[0].run();
  ASSERT_TRUE(result.sampling);
  EXPECT_EQ(result.notes.at(1).first, "shape");
}

TEST(Cases, StopWhenAskedTo) {
  const auto machine = open_machine("sim:mi300x-8");
  const Benchmark benchmark = gemm_benchmark(*machine, options_on_sim(), [] { return true; });
  EXPECT_THROW(benchmark.cases.at(0).run(), Interrupted);
}

}  // namespace
}  // namespace duet
