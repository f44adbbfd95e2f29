// Steps and cases of tensor shards.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/message_fixture.h"
#include "timing/sampler.h"
#include "timing/statistics.h"
#include "training/models/mlp.h"
#include "training/models/qwen3.h"
#include "training/training_work.h"
#include "training/training_work_fixture.h"

namespace duet {
namespace {

// One batch of all ranks.
TEST(TrainingWork, VerifiesStepsOfTensorShards) {
  for (const char* device : {"host:2", "sim:h200:devices=2"}) {
    const auto machine = open_machine(device);
    Team team(*machine);
    const auto session = engines_named(*machine, {"auto"}).front()->open(team);
    for (const std::int64_t accumulate : {1, 2}) {
      TrainingWork work(team, describe(one_narrow_block()), {find_recipe("fp32"), {}, accumulate},
                        {Parallel::tp, session.get()});
      EXPECT_TRUE(Sampler(team).measure(work, brief()).verified) << device;
      EXPECT_EQ(work.cost().more.value(kTokens), 16 * accumulate);
      EXPECT_EQ(work.cost().flop, describe(one_narrow_block()).cost.flop * accumulate);
      EXPECT_GT(work.cost().wire_bytes, 0);
      // Of the embedding, the block's linears, the head and the loss.
      EXPECT_EQ(work.notes().at("exchanges"), "15");
    }
  }
}

// Nothing runs beside the exchange of rows.
TEST(TrainingCases, TellWhatExchangesOfRowsCost) {
  const auto machine = open_machine("sim:h200:devices=2");
  const TrainingOptions options = shards_of_7b(2, Parallel::tp);
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

TEST(TrainingCases, RefuseTensorShardsThatCannotBe) {
  const auto machine = open_machine("host:3");
  const auto refusal = [&](const ModelDescription& model, const char* recipe = "fp32") {
    TrainingOptions options = options_of(model, recipe);
    options.parallel.kind = Parallel::tp;
    return message_of<UsageError>([&] { training_benchmark(*machine, options, {}); });
  };
  EXPECT_EQ(refusal(describe(one_narrow_block())),
            "--parallel tp: small has 64 FFN columns, which 3 ranks cannot divide");
  EXPECT_EQ(refusal(describe(study_mlp())), "--parallel tp: expected gpt, or qwen3 without --lora");
  Qwen3Config qwen3 = find_qwen3("tiny");
  qwen3.heads = 6;
  qwen3.kv_heads = 3;
  qwen3.batch = qwen3.sequence = 6;
  qwen3.ffn_width = 48;
  EXPECT_EQ(refusal(describe(qwen3), "fp8"), "--parallel tp: expected another --recipe than fp8");
  TrainingOptions divided = options_of(describe(qwen3), "fp32");
  divided.parallel.kind = Parallel::tp;
  EXPECT_NO_THROW(training_benchmark(*machine, divided, {}));
}

}  // namespace
}  // namespace duet
