// Ranks of which some divide the products of each batch.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/message_fixture.h"
#include "timing/sampler.h"
#include "training/cases.h"
#include "training/models/qwen3_folder.h"
#include "training/training_run_fixture.h"
#include "training/training_work.h"
#include "training/training_work_fixture.h"

namespace duet {
namespace {

ParallelSettings groups_of(Parallel way, int tensor_ranks) {
  ParallelSettings how{way, nullptr, 1000};
  how.tensor_ranks = tensor_ranks;
  return how;
}

void expect_near_losses(const TrainingCurves& found, const TrainingCurves& expected) {
  ASSERT_EQ(found.loss.size(), expected.loss.size());
  for (std::size_t i = 0; i < expected.loss.size(); ++i) {
    EXPECT_NEAR(found.loss[i], expected.loss[i], 1e-4) << i;
    EXPECT_NEAR(found.gradient_norm[i], expected.gradient_norm[i], 1e-4) << i;
  }
  EXPECT_EQ(found.tokens, expected.tokens);
}

// Four heads of 8, so that two and four ranks divide them.
TokenModelDescription divisible(std::int64_t batch) {
  return describe_for_text(GptConfig{"tiny", 3, 4, 32, 48, 300, batch, 8});
}

TokenModelDescription divisible_qwen3(std::int64_t batch) {
  Qwen3Config config = find_qwen3("tiny");
  config.layers = 3;
  config.heads = config.kv_heads = 4;
  config.batch = batch;
  config.sequence = 8;
  return describe_for_text(config);
}

using TensorGroups = TrainingRunTest;

TEST_F(TensorGroups, LearnAsOneDeviceWithAllBatches) {
  const auto four = open_machine("host:4");
  for (const auto& [way, accumulate] :
       {std::pair(Parallel::ddp, 1), std::pair(Parallel::ddp, 3), std::pair(Parallel::zero3, 1)}) {
    for (const int tensor_ranks : {2, 4}) {
      SCOPED_TRACE(std::string(name(way)) + " " + std::to_string(tensor_ranks));
      TrainingRunSettings s = settings(12);
      s.accumulate = accumulate;
      s.evaluate_every = 6;
      s.clip = 0.5;  // below the gradients' norm
      s.model = divisible(4);
      const TrainingCurves alone = run(s);
      s.model = divisible(tensor_ranks);  // of two groups or of one: the batch of `alone`
      ParallelSettings how = groups_of(way, tensor_ranks);
      const TrainingCurves parallel = run_parallel(*four, how, s);
      expect_near_losses(parallel, alone);
      ASSERT_EQ(parallel.evaluation_loss.size(), 2u);
      EXPECT_NEAR(parallel.evaluation_loss[1], alone.evaluation_loss[1], 1e-4);
      how.keep_gathered = how.late_sums = way == Parallel::zero3;
      const TrainingCurves again = run_parallel(*four, how, s);
      EXPECT_TRUE(way != Parallel::ddp || again.loss == parallel.loss);  // to the bit
      expect_near_losses(again, alone);
    }
  }
}

TEST_F(TensorGroups, LearnAQwen3) {
  const auto four = open_machine("host:4");
  TrainingRunSettings s = settings(12);
  s.model = divisible_qwen3(4);
  const TrainingCurves alone = run(s);
  s.model = divisible_qwen3(2);
  for (const Parallel way : {Parallel::ddp, Parallel::zero3}) {
    expect_near_losses(run_parallel(*four, groups_of(way, 2), s), alone);
  }
}

// A checkpoint is one of the whole model, however ranks share it.
TEST_F(TensorGroups, ResumeToTheBitAndAsOthers) {
  const auto two = open_machine("host:2"), four = open_machine("host:4");
  for (const Parallel way : {Parallel::ddp, Parallel::zero3}) {
    SCOPED_TRACE(name(way));
    TrainingRunSettings s = settings(9);
    s.model = divisible(2);
    const ParallelSettings groups = groups_of(way, 2);
    s.checkpoint = path("whole");
    const TrainingCurves whole = run_parallel(*four, groups, s);
    s.checkpoint = path("parts");
    std::atomic<int> calls{0};
    EXPECT_THROW(run_parallel(*four, groups, s, [&] { return ++calls > 16; }), Interrupted);
    std::filesystem::copy(path("parts"), path("kept"));
    s.resume = true;
    EXPECT_EQ(run_parallel(*four, groups, s).first_step, 5);
    EXPECT_TRUE(contents(path("whole")) == contents(path("parts")));
    const auto as_others = [&](std::int64_t batch, const std::function<TrainingCurves()>& rest) {
      std::filesystem::remove(path("parts"));
      std::filesystem::copy(path("kept"), path("parts"));
      s.model = divisible(batch);
      EXPECT_NEAR(rest().loss.back(), whole.loss.back(), 1e-4);
    };
    as_others(4, [&] { return run(s); });
    as_others(4, [&] { return run_parallel(*two, Parallel::tp, s); });
    as_others(1, [&] { return run_parallel(*four, Parallel::zero3, s); });
    const Parallel other = way == Parallel::ddp ? Parallel::zero3 : Parallel::ddp;
    as_others(4, [&] { return run_parallel(*four, groups_of(other, 4), s); });
    for (const char* file : {"whole", "parts", "kept"}) std::filesystem::remove(path(file));
  }
}

TEST_F(TensorGroups, SaveAModelWithWhichOthersBegin) {
  const auto four = open_machine("host:4");
  for (const Parallel way : {Parallel::ddp, Parallel::zero3}) {
    TrainingRunSettings s = settings(12);
    s.model = divisible_qwen3(2);
    s.save = path("model");
    const TrainingCurves first = run_parallel(*four, groups_of(way, 2), s);
    TrainingRunSettings other = settings(1);
    Qwen3Config config = read_qwen3_folder(s.save);
    config.sequence = 8;
    config.batch = 4;
    other.model = describe_for_text(config);
    other.weights = s.save;
    other.learning_rate.peak = 1e-12;  // rounding apart, a step changes nothing
    EXPECT_NEAR(run(other).evaluation_loss.back(), first.evaluation_loss.back(), 1e-5);
    config.batch = 2;
    other.model = describe_for_text(config);
    const TrainingCurves again = run_parallel(*four, groups_of(way, 2), other);
    EXPECT_NEAR(again.evaluation_loss.back(), first.evaluation_loss.back(), 1e-5);
    std::filesystem::remove_all(s.save);
  }
}

GptConfig divisible_block() {
  GptConfig config = one_narrow_block();
  config.heads = 4;
  return config;
}

TrainingOptions block_options(Parallel way, int tensor_ranks) {
  TrainingOptions options = options_of(describe(divisible_block()), "fp32");
  options.parallel.kind = way;
  options.parallel.tensor_ranks = tensor_ranks;
  return options;
}

void expect_verified(const Measurement& result) {
  SCOPED_TRACE(result.id.device + " " + result.id.engine);
  ASSERT_FALSE(result.skipped.has_value());
  const bool communicates = result.id.engine != kNoEngine;
  EXPECT_EQ(result.sampling->verified, communicates);
  EXPECT_EQ(result.cost.wire_bytes > 0, communicates);
  EXPECT_EQ(result.cost.more.value(kTokens), 2 * 16);
  EXPECT_EQ(result.id.axes.number("tensor_ranks"), 2);
}

TEST(TensorGroupCases, AreVerified) {
  const auto machine = open_machine("host:4");
  for (const Parallel way : {Parallel::ddp, Parallel::zero3}) {
    TrainingOptions options = block_options(way, 2);
    options.engines = {"dma", "kernel", kNoEngine};
    const Benchmark benchmark = training_benchmark(*machine, options, {});
    for (const Case& each : benchmark.cases) expect_verified(each.run());
  }
}

// Each node has a tensor group, and data groups go over nodes.
TEST(TensorGroupCases, AreVerifiedOnTwoNodes) {
  const auto machine = open_machine("sim:h200:devices=2:nodes=2");
  TrainingOptions options = block_options(Parallel::zero3, 2);
  options.engines = {"dma"};
  const Benchmark benchmark = training_benchmark(*machine, options, {});
  expect_verified(benchmark.cases.front().run());
}

TEST(TensorGroupCases, RefuseWhatCannotBe) {
  const auto machine = open_machine("host:4");
  const auto refusal = [&](const TrainingOptions& options) {
    return message_of<UsageError>([&] { training_benchmark(*machine, options, {}); });
  };
  EXPECT_EQ(refusal(block_options(Parallel::ddp, 3)),
            "--tensor-ranks: expected a divisor of the 4 ranks, not 3");
  TrainingOptions odd = block_options(Parallel::zero3, 4);
  GptConfig config = divisible_block();
  config.sequence = 6;
  odd.models = {describe(config)};
  EXPECT_EQ(refusal(odd),
            "--tensor-ranks: small has 6 tokens of a batch, which 4 ranks cannot divide");
  EXPECT_EQ(refusal(block_options(Parallel::ddp, 4)), "");
}

}  // namespace
}  // namespace duet
