// Operations of layers give the right result on every kind of device, in every way.
#include "layers/layer_work.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "collectives/own_engines.h"
#include "device/machine.h"
#include "gemm/first_engine.h"
#include "layers/cases.h"
#include "team/team_fixture.h"
#include "timing/sampler.h"
#include "timing/short_mode_fixture.h"
#include "timing/statistics.h"

namespace duet {
namespace {

class LayerWorkTest : public OnATeam {
 protected:
  Layer layer(const std::string& kind, std::int64_t rows) const {
    const std::int64_t size = 32 * team_->size();
    return layer_of(rows, size, 2 * size, kind, DType::fp32);
  }

  // Returns the bytes that a call sends.
  double expect_right(CollectiveSession& session, const Layer& layer, LayerWay way) {
    way.session = &session;
    Tuning tuning;
    tuning.seconds = 0.01;
    LayerOperation multiplied = layer.operations.front();
    if (!multiplies(multiplied.kind))  // any engine does
      multiplied = {LayerKind::gemm_reduce, "", 16, 16, 16 * team_->size(), DType::fp32};
    const GemmProblem problem = problem_of(multiplied, team_->size());
    LayerWork work(*team_, first_gemm_engine(machine_->device(0), "", {problem}, "layer"), layer,
                   way, tuning);
    const std::vector<Sampling> sampled = Sampler(*team_).measure_by_turns({&work}, short_mode(2));
    EXPECT_TRUE(sampled.front().verified)
        << layer.kind << " in " << way.ranges << " ranges " << name(way.sums);
    EXPECT_GE(sampled.front().samples.size(), 2u);
    EXPECT_GT(work.cost().wire_bytes, 0);
    return work.cost().wire_bytes;
  }
};

// By copies in every way; by kernels, which multiply all rows at once, in one.
TEST_P(LayerWorkTest, IsRightInEveryWay) {
  const auto dma = make_dma_collectives()->open(*team_);
  const auto kernel = make_kernel_collectives()->open(*team_);
  for (const char* const kind :
       {"gather-gemm", "gemm-scatter", "gemm-reduce", "gemm-reduce-norm", "wgrad-scatter", kMlp}) {
    // Few rows are normalised on simulated machines.
    const bool few = std::string(kind) == "gemm-reduce-norm";
    const Layer each = layer(kind, (few ? 8 : 64) * team_->size());
    for (const int launches : {0, 2}) {
      LayerWay way;
      way.graph.launches = launches;
      expect_right(*kernel, each, way);
      expect_right(*dma, each, way);
      for (way.ranges = 1; way.ranges <= 2; ++way.ranges) {
        for (way.streams = 1; way.streams <= 2; ++way.streams) {
          for (const RowSums sums : {RowSums::by_compute, RowSums::in_slots}) {
            way.sums = sums;
            if (each.operations.back().kind != LayerKind::gather_gemm ||
                sums == RowSums::by_compute)
              expect_right(*dma, each, way);
          }
        }
      }
    }
  }
}

// Of four ranks and more the last ones' rows are multiplied at once.
TEST(LayerWork, OfJoinedRowsIsRight) {
  const auto machine = open_machine("host:5");
  Team team(*machine);
  const auto session = make_dma_collectives()->open(team);
  const Layer layer = layer_of(35, 80, 64, "gather-gemm", DType::fp32);
  GemmEngine& engine =
      first_gemm_engine(machine->device(0), "", {problem_of(layer.operations.front(), 5)}, "layer");
  for (const int ranges : {1, 2}) {
    LayerWay way{session.get(), ranges, RowSums::by_compute, 2, {}};
    way.joined = true;
    LayerWork work(team, engine, layer, way, {});
    EXPECT_TRUE(Sampler(team).measure_by_turns({&work}, short_mode(2)).front().verified) << ranges;
    EXPECT_NE(work.algorithm().find("of two ranks and of all others"), std::string::npos);
  }
}

// Small sums by packets, on GPUs with the norm in their kernel, and large ones.
TEST_P(LayerWorkTest, NormalisesWhatIsReduced) {
  const auto dma = make_dma_collectives()->open(*team_);
  const auto kernel = make_kernel_collectives()->open(*team_);
  for (const std::int64_t rows : {1, 2}) {
    const Layer each = layer_of(rows, 4096, 1, "reduce-norm", DType::bf16);
    for (const int launches : {0, 2}) {
      LayerWay way;
      way.graph.launches = launches;
      expect_right(*kernel, each, way);
      expect_right(*dma, each, way);
    }
  }
  const bool computes = std::string(GetParam()).find("sim") != 0;
  if (computes) expect_right(*kernel, layer_of(100, 4096, 1, "reduce-norm", DType::bf16), {});
}

// Rows of one byte an element are gathered; sums are of bf16.
TEST_P(LayerWorkTest, OfFp8IsRight) {
  if (machine_->device(0).info().kind == "host") GTEST_SKIP() << "host devices multiply no FP8";
  const auto session = make_dma_collectives()->open(*team_);
  const std::int64_t rows = 16 * team_->size(), width = 32 * team_->size();
  for (const int ranges : {0, 1, 2}) {
    const LayerWay way{session.get(), ranges, RowSums::by_compute, 1, {}};
    const auto sent = [&](const char* kind, DType dtype) {
      return expect_right(*session, layer_of(rows, width, 2 * width, kind, dtype), way);
    };
    EXPECT_EQ(2 * sent("gather-gemm", DType::fp8_e4m3), sent("gather-gemm", DType::bf16));
    EXPECT_EQ(sent("gemm-scatter", DType::fp8_e4m3), sent("gemm-scatter", DType::bf16));
    // Simulated machines do not activate in bf16.
    if (machine_->device(0).info().kind != "sim") sent(kMlp, DType::fp8_e4m3);
  }
}

// Rows that ranks do not divide, and fewer than ranks.
TEST_P(LayerWorkTest, OfOddRowsIsReduced) {
  const auto session = make_dma_collectives()->open(*team_);
  for (const std::int64_t rows : {1, 2 * team_->size() + 1}) {
    for (const RowSums sums : {RowSums::by_compute, RowSums::in_slots}) {
      expect_right(*session, layer("gemm-reduce", rows), {nullptr, 2, sums, 1, {}});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, LayerWorkTest,
                         ::testing::Values("host:2", "host:3", "sim:h200:devices=2",
                                           "sim:h200:devices=3", "cuda"));

// An attention's two linears follow each other, of inputs of their own.
TEST(LayerWork, OfAModelIsRight) {
  const auto machine = open_machine("host:2");
  Team team(*machine);
  const auto session = make_dma_collectives()->open(team);
  Layer layer = layers_of("qwen3-8b", 32, {kAttention}, DType::fp32).front();
  for (LayerOperation& each : layer.operations) each.k = each.n = 128;
  GemmEngine& engine =
      first_gemm_engine(machine->device(0), "", {problem_of(layer.operations.front(), 2)}, "layer");
  LayerWork work(team, engine, layer, {session.get(), 1, RowSums::by_compute, 1, {}}, {});
  EXPECT_TRUE(Sampler(team).measure_by_turns({&work}, short_mode(2)).front().verified);
}

// Multiplies, but does not add.
class NeverAdds : public GemmEngine {
 public:
  explicit NeverAdds(GemmEngine& engine) : engine_(engine) {}
  std::string name() const override { return "never-adds"; }
  std::string device_kind() const override { return engine_.device_kind(); }
  std::optional<Skipped> unsupported(Device& device, const GemmProblem& problem) const override {
    return engine_.unsupported(device, problem);
  }
  std::unique_ptr<GemmPlan> plan(Device& device, const GemmProblem& problem,
                                 const GemmBuffers& buffers, const Tuning& tuning) override {
    GemmProblem other = problem;
    other.accumulate = false;
    return engine_.plan(device, other, buffers, tuning);
  }

 private:
  GemmEngine& engine_;
};

TEST(LayerWork, FindsSumsThatAreNotAdded) {
  const auto machine = open_machine("host:2");
  Team team(*machine);
  const auto session = make_dma_collectives()->open(team);
  const Layer layer = layer_of(64, 48, 96, "gemm-scatter", DType::fp32);
  NeverAdds engine(first_gemm_engine(machine->device(0), "",
                                     {problem_of(layer.operations.front(), 2)}, "layer"));
  const LayerWay way{session.get(), 1, RowSums::by_compute, 1, {}};
  LayerWork work(team, engine, layer, way, {});
  EXPECT_THROW(Sampler(team).measure_by_turns({&work}, short_mode(2)), Mismatch);
}

LayerOptions options_of(std::vector<std::string> engines) {
  LayerOptions options;
  options.layers = {layer_of(64, 96, 48, "gather-gemm", DType::fp32),
                    layer_of(64, 48, 96, "gemm-scatter", DType::fp32)};
  options.engines = std::move(engines);
  options.device_name = "host:2";
  options.mode = short_mode(2);
  options.tuning_seconds = 0.01;
  return options;
}

TEST(LayerCases, AreOfEachEngineAndMeasureWhatIsAdded) {
  const auto machine = open_machine("host:2");
  const Benchmark benchmark =
      layer_benchmark(*machine, options_of({kAlone, "kernel", kPieces, kFastest}), {});
  ASSERT_EQ(benchmark.cases.size(), 2u * 3 + 2 * (2 + 4));  // a gather has one way of adding
  for (const Case& one : benchmark.cases) {
    const Measurement result = one.run();
    ASSERT_TRUE(result.sampling.has_value());
    EXPECT_TRUE(result.sampling->verified);
    EXPECT_EQ(result.metrics.empty(), one.id.engine == kAlone);
    if (one.id.engine == kFastest) {
      EXPECT_EQ(result.notes.back().first, "chosen");
    }
  }
  EXPECT_TRUE(benchmark.conclude({}).empty());
}

double metric(const Measurement& result, const std::string& name) {
  for (const auto& [metric, value] : result.metrics) {
    if (metric == name) return value;
  }
  return NAN;
}

// Rows are joined in one range, of four ranks or more.
TEST(LayerCases, JoinRowsOfManyRanks) {
  for (const int ranks : {2, 4}) {
    const auto machine = open_machine("host:" + std::to_string(ranks));
    LayerOptions options = options_of({kPieces});
    int joined = 0;
    for (const Case& each : layer_benchmark(*machine, options, {}).cases) {
      const bool joins = each.id.axes.find("joined") != nullptr;
      joined += joins ? 1 : 0;
      EXPECT_FALSE(joins && each.id.axes.text("layer") != "gather-gemm");
    }
    EXPECT_EQ(joined, ranks == 2 ? 0 : 2);  // by the number of streams
  }
}

// On a simulated machine calls are equal: the one whose times are told is one of those measured. A
// gather's own rows are multiplied at once; a sum of them is sent behind the last ones.
TEST(LayerCases, TellWhenRowsAreMultiplied) {
  const auto machine = open_machine("sim:h200:devices=2");
  LayerOptions options = options_of({kPieces, "vendor-model"});
  options.layers = {layer_of(4096, 8192, 8192, "gather-gemm", DType::bf16),
                    layer_of(4096, 8192, 8192, "gemm-scatter", DType::bf16)};
  options.ranges = {2};
  options.sums = {RowSums::in_slots};
  options.streams = {1};
  const Benchmark benchmark = layer_benchmark(*machine, options, {});
  ASSERT_EQ(benchmark.cases.size(), 4u);
  for (const Case& each : benchmark.cases) {
    const Measurement result = each.run();
    const bool gathers = each.id.axes.text("layer") == "gather-gemm";
    const bool in_pieces = each.id.engine == kPieces;
    SCOPED_TRACE(each.id.engine + (gathers ? " gathers" : " scatters"));
    ASSERT_EQ(result.curves.size(), 2u);
    double multiplied = 0;
    for (const auto& [name, times] : result.curves) {
      ASSERT_EQ(times.size(), in_pieces ? 6u : 2u) << name;
      EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
      for (std::size_t i = 0; i < times.size(); i += 2) multiplied += times[i + 1] - times[i];
    }
    const double call = summarise(result.sampling->samples).median;
    const double wait = metric(result, "first_wait_seconds");
    const double tail = metric(result, "tail_seconds");
    EXPECT_LE(wait + tail + multiplied / 2, 1.001 * call);
    EXPECT_GE(wait, 0);
    EXPECT_EQ(wait > 0.1 * call, gathers && !in_pieces);
    EXPECT_EQ(tail > 0.01 * call, !gathers);
  }
}

TEST(LayerCases, RefuseWhatCannotBe) {
  const auto machine = open_machine("host:2");
  const auto refused = [&](auto change) {
    LayerOptions options = options_of({kPieces});
    change(options);
    EXPECT_THROW(layer_benchmark(*machine, options, {}), UsageError);
  };
  refused([](LayerOptions& o) { o.engines = {"warp"}; });
  refused([](LayerOptions& o) { o.layers[0].operations[0].m = 63; });
  refused([](LayerOptions& o) {
    o.layers = {layer_of(1, 16384, 1, "reduce-norm", DType::fp32)};  // 64 KiB
  });
  EXPECT_THROW(layer_of(4, 64, 64, "reduce-norm", DType::fp32), UsageError);
}

}  // namespace
}  // namespace duet
