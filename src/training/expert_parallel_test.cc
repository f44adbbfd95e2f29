// Ranks that divide the experts of a mixture, each with a batch of its own.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
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

Qwen3Config small_experts(std::int64_t batch) {
  Qwen3Config config = find_qwen3_moe("tiny");
  config.batch = batch;
  config.sequence = 8;
  return config;
}

TokenModelDescription experts_of_batch(std::int64_t batch) {
  return describe_for_text(small_experts(batch));
}

void expect_close_losses(const TrainingCurves& found, const TrainingCurves& expected) {
  ASSERT_EQ(found.loss.size(), expected.loss.size());
  for (std::size_t i = 0; i < expected.loss.size(); ++i) {
    EXPECT_NEAR(found.loss[i], expected.loss[i], 1e-4) << i;
    EXPECT_NEAR(found.gradient_norm[i], expected.gradient_norm[i], 1e-4) << i;
  }
  EXPECT_EQ(found.tokens, expected.tokens);
}

using ExpertParallel = TrainingRunTest;

TEST_F(ExpertParallel, LearnsAsOneDeviceWithAllBatches) {
  const auto two = open_machine("host:2");
  for (const int accumulate : {1, 3}) {
    TrainingRunSettings s = settings(6);
    s.accumulate = accumulate;
    s.evaluate_every = 3;
    s.clip = 0.5;  // below the gradients' norm
    s.model = experts_of_batch(2);
    const TrainingCurves alone = run(s);
    s.model = experts_of_batch(1);
    const TrainingCurves parallel = run_parallel(*two, Parallel::ep, s);
    expect_close_losses(parallel, alone);
    ASSERT_EQ(parallel.evaluation_loss.size(), 2u);
    EXPECT_NEAR(parallel.evaluation_loss[1], alone.evaluation_loss[1], 1e-4);
    EXPECT_TRUE(run_parallel(*two, Parallel::ep, s).loss == parallel.loss);  // to the bit
  }
}

TEST_F(ExpertParallel, IsOneOfTheWays) {
  const auto two = open_machine("host:2");
  TrainingRunSettings s = settings(6);
  s.model = experts_of_batch(2);
  const TrainingCurves experts = run_parallel(*two, Parallel::ep, s);
  for (const Parallel way : {Parallel::ddp, Parallel::zero3})
    expect_close_losses(run_parallel(*two, way, s), experts);
}

// What is recomputed has the same bits.
TEST_F(ExpertParallel, RecomputesWhatItNeeds) {
  const auto two = open_machine("host:2");
  TrainingRunSettings s = settings(4);
  Qwen3Config config = small_experts(2);
  const auto losses = [&](Recompute recompute) {
    config.recompute = recompute;
    s.model = describe_for_text(config);
    return run_parallel(*two, Parallel::ep, s).loss;
  };
  const std::vector<double> kept = losses(Recompute::none);
  EXPECT_TRUE(losses(Recompute::attention) == kept);
  EXPECT_TRUE(losses(Recompute::block) == kept);
}

// A checkpoint is one of the whole model, however ranks share it.
TEST_F(ExpertParallel, ResumesToTheBitAndAsOthers) {
  const auto two = open_machine("host:2"), four = open_machine("host:4");
  TrainingRunSettings s = settings(9);
  s.model = experts_of_batch(2);
  s.checkpoint = path("whole");
  const TrainingCurves whole = run_parallel(*two, Parallel::ep, s);
  s.checkpoint = path("parts");
  std::atomic<int> calls{0};
  EXPECT_THROW(run_parallel(*two, Parallel::ep, s, [&] { return ++calls > 8; }), Interrupted);
  std::filesystem::copy(path("parts"), path("kept"));
  s.resume = true;
  EXPECT_EQ(run_parallel(*two, Parallel::ep, s).first_step, 5);
  EXPECT_TRUE(contents(path("whole")) == contents(path("parts")));
  const auto as_others = [&](std::int64_t batch, const std::function<TrainingCurves()>& rest) {
    std::filesystem::remove(path("parts"));
    std::filesystem::copy(path("kept"), path("parts"));
    s.model = experts_of_batch(batch);
    EXPECT_NEAR(rest().loss.back(), whole.loss.back(), 1e-4);
  };
  as_others(4, [&] { return run(s); });
  as_others(1, [&] { return run_parallel(*four, Parallel::ep, s); });
  as_others(2, [&] { return run_parallel(*two, Parallel::ddp, s); });
  as_others(1, [&] { return run_parallel(*four, Parallel::zero3, s); });
}

// In the form of the transformers library, each rank with its experts' tensors.
TEST_F(ExpertParallel, SavesAModelWithWhichOthersBegin) {
  const auto two = open_machine("host:2");
  TrainingRunSettings s = settings(12);
  s.model = experts_of_batch(1);
  s.save = path("model");
  const TrainingCurves first = run_parallel(*two, Parallel::ep, s);
  TrainingRunSettings other = settings(1);
  Qwen3Config config = read_qwen3_folder(s.save, true);
  config.sequence = 8;
  config.batch = 2;
  other.model = describe_for_text(config);
  other.weights = s.save;
  other.learning_rate.peak = 1e-12;  // rounding apart, a step changes nothing
  EXPECT_NEAR(run(other).evaluation_loss.back(), first.evaluation_loss.back(), 1e-5);
  config.batch = 1;
  other.model = describe_for_text(config);
  EXPECT_NEAR(run_parallel(*two, Parallel::ep, other).evaluation_loss.back(),
              first.evaluation_loss.back(), 1e-5);
}

TEST(ExpertParallelWork, IsVerified) {
  for (const char* device : {"host:2", "sim:h200:devices=2", "sim:h200:devices=2:nodes=2"}) {
    SCOPED_TRACE(device);
    const auto machine = open_machine(device);
    Team team(*machine);
    const auto session = engines_named(*machine, {"auto"}).front()->open(team);
    Qwen3Config config = small_experts(2);
    config.layers = 1;
    const ModelDescription model = describe(config);
    TrainingWork work(team, model, {find_recipe("fp32"), {}, 1}, {Parallel::ep, session.get()});
    EXPECT_TRUE(Sampler(team).measure(work, brief()).verified);
    EXPECT_EQ(work.cost().more.value(kTokens), 2 * 8 * team.size());
    EXPECT_GT(work.cost().wire_bytes, 0);
    // Routing, tokens and sums; gradients of sums, weights and tokens.
    EXPECT_EQ(work.notes().at("exchanges"), "6");
  }
}

TEST(ExpertParallelWork, RefusesWhatCannotBe) {
  const auto machine = open_machine("host:3");
  const auto refusal = [&](const ModelDescription& model, Parallel way) {
    TrainingOptions options = options_of(model, "fp32");
    options.parallel.kind = way;
    return message_of<UsageError>([&] { training_benchmark(*machine, options, {}); });
  };
  const ModelDescription experts = describe(small_experts(2));
  EXPECT_EQ(refusal(experts, Parallel::ep),
            "--parallel ep: qwen3-moe-tiny has 8 experts, which 3 ranks cannot divide");
  EXPECT_EQ(refusal(describe(one_block()), Parallel::ep),
            "--parallel ep: expected qwen3-moe, whose experts devices divide");
  EXPECT_EQ(refusal(experts, Parallel::tp), "--parallel tp: expected gpt, or qwen3 without --lora");
}

TEST(ExpertModels, CountWhatATokenUses) {
  const Qwen3Config config = find_qwen3_moe("30b-a3b");
  EXPECT_NEAR(static_cast<double>(parameter_count(config)), 30.5e9, 0.1e9);
  EXPECT_NEAR(flop_per_token(config).six_n / 6, 3.35e9, 0.05e9);
  EXPECT_THROW(read_qwen3_moe_configs("x.toml", "[[model]]\nname = \"x\"\n"), UsageError);
}

}  // namespace
}  // namespace duet
