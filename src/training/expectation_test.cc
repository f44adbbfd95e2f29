#include <gtest/gtest.h>

#include "training/models/model.h"
#include "training/workload.h"
#include "verdict/expectation_fixture.h"

namespace duet {
namespace {

using TrainingExpectations = Expectations;

// 1,000 TFLOP/s and 4,000 GB/s: the longer of both bounds the step.
TEST_F(TrainingExpectations, ATrainingStepIsBoundByItsFlopOrItsBytes) {
  Record step = result("train", {{"model", "7b"}, {"recipe", "bf16"}}, {250e12, 400e9, 0});
  step.cost.more.set(kTokens, 8000);
  step.id.axes.set("sequence", 630);
  step.rates = {{"tflops", 250.0}, {"hardware_tflops", 255.0}};
  const Expectation by_flop = expect_training(step, site());
  EXPECT_DOUBLE_EQ(*by_flop.bound, 8000 / 0.25);
  // 220e12 FLOP at 700 TFLOP/s, 35e12 at 0.1764 of 1,000, and 400 GB at 3,200 GB/s.
  EXPECT_NEAR(*by_flop.expected, 0.8 * 8000 / (0.22 / 0.7 + 0.035 / 0.1764 + 0.125), 1e-6);
  EXPECT_NE(by_flop.basis.find("25% of the dense peak"), std::string::npos) << by_flop.basis;
  step.cost.memory_bytes = 4e12;
  EXPECT_DOUBLE_EQ(*expect_training(step, site()).bound, 8000);
  step.id.axes.set("recipe", "fp32");
  EXPECT_FALSE(expect_training(step, site()).bound);
  step.id.axes.set("recipe", "fp8");  // some in bf16, whose peak a step may pass
  step.cost.memory_bytes = 0;
  spec_.tflops[DType::fp8_e4m3] = 2000;
  spec_.efficiency[DType::fp8_e4m3] = 0.7;
  EXPECT_DOUBLE_EQ(*expect_training(step, site()).bound, 8000 / 0.125);
  EXPECT_FALSE(expect_training(step, site()).expected);
  step.cost.more.set(kTokens, 0);
  EXPECT_FALSE(expect_training(step, site()).bound);
}

TEST_F(TrainingExpectations, AParallelTrainingStepIsBoundByWhatEachRankDoes) {
  Record step = result("train", {{"model", "mlp"}, {"recipe", "bf16"}}, {500e12, 800e9, 0});
  step.id.engine = "none";
  step.id.axes.set("parallel", "ddp");
  step.id.axes.set("ranks", 2);
  step.cost.more.set(kSamples, 512);
  step.rates = {{"tflops", 500.0}, {"hardware_tflops", 500.0}};
  EXPECT_DOUBLE_EQ(*expect_training(step, site()).bound, 512 / 0.25);
  EXPECT_NEAR(*expect_training(step, site()).expected, 0.8 * 512 / (0.25 / 0.7 + 0.125), 1e-6);
  step.id.engine = "dma";
  EXPECT_FALSE(expect_training(step, site()).expected);
  step.metrics = {{"communication_seconds", 0.5}};
  const Expectation serial = expect_training(step, site());
  EXPECT_NEAR(*serial.expected, 512 / ((0.25 / 0.7 + 0.125) / 0.8 + 0.5), 1e-6);
  EXPECT_NE(serial.basis.find("500 ms of collectives"), std::string::npos) << serial.basis;
}

TEST_F(TrainingExpectations, ATrainingStepHasNoneWithoutItsParts) {
  Record step = result("train", {{"model", "mlp"}, {"recipe", "bf16"}}, {250e12, 400e9, 0});
  step.cost.more.set(kSamples, 256);
  step.rates = {{"tflops", 250.0}, {"hardware_tflops", 250.0}};
  EXPECT_NEAR(*expect_training(step, site()).expected, 0.8 * 256 / (0.25 / 0.7 + 0.125), 1e-6);
  Record other = step;
  other.id.engine = "torch-graph";
  EXPECT_FALSE(expect_training(other, site()).expected);
  other = step;
  other.id.axes.set("recompute", "block");
  EXPECT_FALSE(expect_training(other, site()).expected);
  other = step;
  other.id.axes.set("model", "qwen3-moe-30b-a3b");
  EXPECT_FALSE(expect_training(other, site()).expected);
  EXPECT_TRUE(expect_training(other, site()).bound);
  MachineFacts simulated = machine(1);
  simulated.virtual_time = true;
  EXPECT_FALSE(expect_training(step, {simulated, "One", &spec_, {}, {}}).expected);
}

}  // namespace
}  // namespace duet
