// Steps and cases of tensor shards.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "timing/sampler.h"
#include "timing/statistics.h"
#include "training/cases.h"
#include "training/models/gpt.h"
#include "training/models/mlp.h"
#include "training/models/qwen3.h"
#include "training/training_work.h"

namespace duet {
namespace {

GptConfig small_block() {
  GptConfig config = find_gpt("small");
  config.layers = 1;
  config.width = 48;
  config.ffn_width = 64;
  config.vocabulary = 101;
  config.batch = 1;
  config.sequence = 16;
  return config;
}

Mode few_steps() {
  Mode mode;
  mode.min_iterations = mode.max_iterations = 3;
  mode.warm_up_seconds = 0;
  return mode;
}

// One batch of all ranks.
TEST(TrainingWork, VerifiesStepsOfTensorShards) {
  for (const char* device : {"host:2", "sim:h200:devices=2"}) {
    const auto machine = open_machine(device);
    Team team(*machine);
    const auto session = engines_named(*machine, {"auto"}).front()->open(team);
    for (const std::int64_t accumulate : {1, 2}) {
      TrainingWork work(team, describe(small_block()), {find_recipe("fp32"), {}, accumulate},
                        {Parallel::tp, session.get()});
      EXPECT_TRUE(Sampler(team).measure(work, few_steps()).verified) << device;
      EXPECT_EQ(work.cost().more.value(kTokens), 16 * accumulate);
      EXPECT_EQ(work.cost().flop, describe(small_block()).cost.flop * accumulate);
      EXPECT_GT(work.cost().wire_bytes, 0);
      // Of the embedding, the block's linears, the head and the loss.
      EXPECT_EQ(work.notes().at("exchanges"), "15");
    }
  }
}

// Nothing runs beside the exchange of rows.
TEST(TrainingCases, TellWhatExchangesOfRowsCost) {
  const auto machine = open_machine("sim:h200:devices=2");
  TrainingOptions options;
  GptConfig config = find_gpt("7b");
  config.layers = 2;
  config.batch = 1;
  options.models = {describe(config)};
  options.recipes = {find_recipe("bf16")};
  options.mode = few_steps();
  options.breakdown = true;
  options.parallel.kind = Parallel::tp;
  options.engines = {"dma", kNoEngine};
  const Benchmark benchmark = training_benchmark(*machine, options, {});
  const Measurement by_engine = benchmark.cases.front().run(), alone = benchmark.cases.back().run();
  const double exposed =
      summarise(by_engine.sampling->samples).median - summarise(alone.sampling->samples).median;
  const std::map<std::string, double> metrics(by_engine.metrics.begin(), by_engine.metrics.end());
  // Products of rows hide a part of it.
  EXPECT_GT(exposed, 0.3 * metrics.at("communication_seconds"));
  EXPECT_LT(exposed, 0.9 * metrics.at("communication_seconds"));
  const auto has = [&](const Measurement& one, const char* curve) {
    const auto named = [&](const auto& each) { return each.first == curve; };
    return std::any_of(one.curves.begin(), one.curves.end(), named);
  };
  for (const char* each :
       {"timeline_all_gather", "timeline_reduce_scatter", "timeline_all_reduce"}) {
    EXPECT_TRUE(has(by_engine, each)) << each;
    EXPECT_FALSE(has(alone, each)) << each;
  }
}

std::string refusal_of(Machine& machine, const TrainingOptions& options) {
  try {
    training_benchmark(machine, options, {});
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(TrainingCases, RefuseTensorShardsThatCannotBe) {
  const auto machine = open_machine("host:3");
  TrainingOptions options;
  options.parallel.kind = Parallel::tp;
  options.recipes = {find_recipe("fp32")};
  options.models = {describe(small_block())};
  EXPECT_EQ(refusal_of(*machine, options),
            "--parallel tp: small has 64 FFN columns, which 3 ranks cannot divide");
  options.models = {describe(study_mlp())};
  EXPECT_EQ(refusal_of(*machine, options), "--parallel tp: expected gpt, or qwen3 without --lora");
  Qwen3Config qwen3 = find_qwen3("tiny");
  qwen3.heads = 6;
  qwen3.kv_heads = 3;
  qwen3.batch = qwen3.sequence = 6;
  qwen3.ffn_width = 48;
  options.models = {describe(qwen3)};
  EXPECT_EQ(refusal_of(*machine, options), "");
  options.recipes = {find_recipe("fp8")};
  EXPECT_EQ(refusal_of(*machine, options), "--parallel tp: expected another --recipe than fp8");
}

}  // namespace
}  // namespace duet
