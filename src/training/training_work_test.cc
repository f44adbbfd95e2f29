#include "training/training_work.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/error.h"
#include "core/message_fixture.h"
#include "timing/sampler.h"
#include "training/models/mlp.h"
#include "training/models/qwen3.h"
#include "training/models/recipe_fixture.h"
#include "training/training_work_fixture.h"

namespace duet {
namespace {

TEST(TrainingWork, VerifiesItsSteps) {
  const auto machine = open_machine("host");
  Team team(*machine, {0});
  TrainingWork work(team, describe(one_block()), {find_recipe("fp32")});
  EXPECT_TRUE(Sampler(team).measure(work, brief()).verified);
  EXPECT_EQ(work.cost().more.value(kTokens), 16);
  EXPECT_EQ(work.cost().flop, 16 * flop_per_token(one_block()).model);
}

TEST(TrainingWork, AStepThatMayFillTheLaunchQueueIsNotHeldBack) {
  const auto machine = open_machine("sim:h200:devices=1");
  Team team(*machine, {0});
  for (const auto& [model, fills] : {std::pair("small", false), std::pair("1.5b", true)}) {
    TrainingWork work(team, describe(find_gpt(model)), {find_recipe("bf16")});
    team.each([&](Rank& rank) { work.prepare(rank, {}); });
    EXPECT_EQ(work.host_driven(), fills) << model;
    team.each([&](Rank& rank) { work.release(rank); });
  }
}

// An iteration that does nothing leaves the poison that renew() wrote.
TEST(TrainingWork, AStepThatDidNotRunIsWrong) {
  const auto machine = open_machine("host");
  Team team(*machine, {0});
  TrainingWork work(team, describe(one_block()), {find_recipe("fp32")});
  team.each([&](Rank& rank) {
    work.prepare(rank, {});
    work.renew(rank);
    EXPECT_THROW(work.verify(rank), Mismatch);
    work.release(rank);
  });
}

double predicted_seconds(UpdateOrder order) {
  const auto machine = open_machine("sim:h200:devices=1");
  Team team(*machine, {0});
  TrainingWork work(team, describe(find_gpt("1.5b")), {find_recipe("amp"), {}, 1, order});
  return summarise(Sampler(team).measure(work, brief()).samples).median;
}

TEST(TrainingWork, VerifiesUpdatesBesideTheBackwardPass) {
  for (const char* device : {"host", "sim:h200:devices=1"}) {
    const auto machine = open_machine(device);
    Team team(*machine, {0});
    TrainingWork work(team, describe(one_narrow_block()),
                      {find_recipe("fp32"), {}, 1, UpdateOrder::beside});
    EXPECT_TRUE(Sampler(team).measure(work, brief()).verified) << device;
  }
}

// On a simulated GPU, where nothing else hides it.
TEST(TrainingWork, UpdatesBesideTheBackwardPass) {
  EXPECT_LT(predicted_seconds(UpdateOrder::beside), 0.97 * predicted_seconds(UpdateOrder::after));
}

TEST(TrainingCases, MeasureOnTheHostAndPredictOnASimulatedMachine) {
  TrainingOptions options = options_of(describe(one_block()), "fp32");
  for (const char* device : {"host", "sim:h200:devices=1"}) {
    const auto machine = open_machine(device);
    options.device_name = device;
    const Benchmark benchmark = training_benchmark(*machine, options, {});
    ASSERT_EQ(benchmark.cases.size(), 1u);
    const Measurement one = benchmark.cases.front().run();
    ASSERT_TRUE(one.sampling) << device;
    EXPECT_EQ(one.rates.front().first, "six_n_tflops");
    EXPECT_GT(one.rates.front().second, 0);
  }
}

// 28 and 14 bytes of each parameter by the optimizer; activations besides.
TEST(TrainingWork, CountsTheBytesOfTheOptimizer) {
  const ModelDescription model = describe(find_gpt("7b"));
  const auto machine = open_machine("host");
  Team team(*machine, {0});
  const auto bytes = [&](const char* recipe, OptimizerKind kind) {
    const double all =
        TrainingWork(team, model, {find_recipe(recipe), {kind, {}}}).cost().memory_bytes;
    const double element = std::string(recipe) == "fp32" ? 4 : 2;
    return (all - element * model.elements_moved) / model.trained_parameters;
  };
  EXPECT_DOUBLE_EQ(bytes("fp32", OptimizerKind::adamw), 28);
  EXPECT_DOUBLE_EQ(bytes("amp", OptimizerKind::adamw), 28);
  EXPECT_DOUBLE_EQ(bytes("bf16", OptimizerKind::adamw), 14);
  EXPECT_DOUBLE_EQ(bytes("fp32", OptimizerKind::sgd), 12);
  EXPECT_DOUBLE_EQ(bytes("bf16", OptimizerKind::sgd), 6);
}

TEST(TrainingWork, AddsUpBatches) {
  const auto machine = open_machine("host");
  Team team(*machine, {0});
  TrainingWork work(team, describe(one_block()), {find_recipe("fp32"), {}, 3});
  EXPECT_TRUE(Sampler(team).measure(work, brief()).verified);
  EXPECT_EQ(work.cost().more.value(kTokens), 48);
}

TEST(TrainingWork, VerifiesStepsOfSeveralRanks) {
  for (const char* device : {"host:3", "sim:h200:devices=2"}) {
    const auto machine = open_machine(device);
    Team team(*machine);
    const auto session = engines_named(*machine, {"auto"}).front()->open(team);
    for (const std::int64_t accumulate : {1, 2}) {
      TrainingWork work(team, describe(one_narrow_block()), {find_recipe("fp32"), {}, accumulate},
                        {Parallel::ddp, session.get(), 1000});
      EXPECT_TRUE(Sampler(team).measure(work, brief()).verified) << device;
      EXPECT_EQ(work.cost().more.value(kTokens), 16 * accumulate * team.size());
      EXPECT_GT(work.cost().wire_bytes, 0);
      EXPECT_EQ(work.notes().at("buckets"), "4");
    }
  }
}

// Calls that leave everything as it is.
class IdleSession : public CollectiveSession {
 public:
  std::optional<Skipped> unsupported(const Collective&, bool) const override { return {}; }

 protected:
  class IdlePlan : public CollectivePlan {
    void enqueue(Stream&) override {}
  };
  std::unique_ptr<CollectivePlan> make_plan(Rank&, const Collective&, const CollectiveBuffers&,
                                            const std::vector<std::string>&) override {
    return std::make_unique<IdlePlan>();
  }
};

TEST(TrainingWork, VerifiesStepsOfAQwen3) {
  for (const char* device : {"host", "host:2"}) {
    const auto machine = open_machine(device);
    Team team(*machine);
    const auto session = engines_named(*machine, {"auto"}).front()->open(team);
    for (const Parallel way : {Parallel::ddp, Parallel::zero3}) {
      for (const Recipe& recipe : {find_recipe("fp32"), fp8_on_hosts()}) {
        const ParallelSettings parallel{way, session.get()};
        TrainingWork work(team, describe(find_qwen3("tiny")), {recipe},
                          team.size() > 1 ? parallel : ParallelSettings());
        EXPECT_TRUE(Sampler(team).measure(work, brief()).verified) << device << ", " << recipe.name;
      }
    }
  }
}

// A model without blocks.
TEST(TrainingWork, VerifiesStepsOfAnMlp) {
  for (const char* device : {"host:1", "host:3"}) {
    const auto machine = open_machine(device);
    Team team(*machine);
    const auto session = engines_named(*machine, {"auto"}).front()->open(team);
    for (const Parallel way : {Parallel::ddp, Parallel::zero3}) {
      StepSettings settings{find_recipe("fp32")};
      settings.optimizer.kind = OptimizerKind::sgd;
      TrainingWork work(team, describe(MlpConfig{{40, 64, 64, 40}, 8}), settings,
                        {way, session.get()});
      EXPECT_TRUE(Sampler(team).measure(work, brief()).verified) << device << ", " << name(way);
    }
  }
}

// Of 5,000 tokens a batch has few, and the first one hardly ever.
TEST(TrainingWork, VerifiesStepsWhereTheFirstTokenDoesNotOccur) {
  Qwen3Config config = find_qwen3("tiny");
  config.vocabulary = 5000;
  config.batch = 1;
  config.sequence = 8;
  const auto machine = open_machine("host");
  Team team(*machine);
  TrainingWork work(team, describe(config), {find_recipe("fp32")});
  EXPECT_TRUE(Sampler(team).measure(work, brief()).verified);
}

TEST(TrainingWork, RanksWhoseGradientsAreNotSummedAreWrong) {
  const auto machine = open_machine("host:2");
  Team team(*machine);
  IdleSession session;
  TrainingWork work(team, describe(one_block()), {find_recipe("fp32")}, {Parallel::ddp, &session});
  const std::string text = message_of<Mismatch>([&] { Sampler(team).measure(work, brief()); });
  EXPECT_NE(text.find("not those of rank 0"), std::string::npos) << text;
}

// On a simulated machine, where figures are exact.
TEST(TrainingCases, TellWhatCommunicationCosts) {
  const auto machine = open_machine("sim:h200:devices=2");
  GptConfig config = find_gpt("1.5b");
  config.layers = 4;
  TrainingOptions options = options_of(describe(config), "bf16");
  options.parallel.kind = Parallel::ddp;
  options.engines = {"dma", kNoEngine};
  const Benchmark benchmark = training_benchmark(*machine, options, {});
  ASSERT_EQ(benchmark.cases.size(), 2u);
  std::vector<Finished> finished;
  for (const Case& one : benchmark.cases) {
    const Measurement result = one.run();
    EXPECT_EQ(result.id.axes.number("ranks"), 2);
    const Summary times = summarise(result.sampling->samples);
    finished.push_back({result.id,
                        times.median,
                        result.cost,
                        0,
                        0,
                        {result.metrics.begin(), result.metrics.end()}});
  }
  const double sums = finished.front().metrics.at("communication_seconds");
  EXPECT_GT(sums, 0);
  EXPECT_EQ(finished.back().metrics.count("communication_seconds"), 0u);
  const auto results = benchmark.conclude(finished);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results.front().id.engine, "dma");
  const std::map<std::string, double> rates(results.front().rates.begin(),
                                            results.front().rates.end());
  EXPECT_DOUBLE_EQ(rates.at("exposed_seconds"),
                   finished.front().median_seconds - finished.back().median_seconds);
  // Embeddings come last, and nothing hides their sum; all else is hidden in part at least.
  EXPECT_GT(rates.at("exposed_seconds"), 0);
  EXPECT_LT(rates.at("exposed_seconds"), sums);
}

TEST(TrainingCases, AreToldByTheirBuckets) {
  const auto machine = open_machine("sim:h200:devices=2");
  TrainingOptions options = shards_of_7b(1, Parallel::ddp);
  const CaseId usual = training_benchmark(*machine, options, {}).cases.front().id;
  options.parallel.bucket_bytes = 1000;
  EXPECT_FALSE(training_benchmark(*machine, options, {}).cases.front().id.axes == usual.axes);
}

// The parts are those of a step that communicates nothing, by any engine.
TEST(TrainingCases, PartsOfShardsAreWithoutCommunication) {
  const auto machine = open_machine("sim:h200:devices=2");
  const Benchmark benchmark = training_benchmark(*machine, shards_of_7b(2, Parallel::zero3), {});
  const Measurement by_engine = benchmark.cases.front().run(), alone = benchmark.cases.back().run();
  const auto parts = [](const Measurement& one) {
    double sum = 0;
    for (const auto& [metric, value] : one.metrics) {
      const bool part = metric.find("_seconds") != std::string::npos;
      if (part && metric != "communication_seconds") sum += value;
    }
    return sum;
  };
  EXPECT_NEAR(parts(by_engine), parts(alone), 0.01 * parts(alone));
}

// Parts are timed with each rank's own gradients.
TEST(TrainingCases, RanksHaveTheSameParametersAfterTheirPartsWereTimed) {
  const auto machine = open_machine("host:2");
  TrainingOptions options = options_of(describe(one_block()), "fp32");
  options.breakdown = true;
  options.parallel.kind = Parallel::ddp;
  options.engines = {"dma", kNoEngine};
  EXPECT_TRUE(training_benchmark(*machine, options, {}).cases.front().run().sampling->verified);
}

// What a stream did is one after the other, and each wait ends as a collective does.
TEST(TrainingCases, TimelinesShowCollectivesAndWhoWaitsForThem) {
  const auto machine = open_machine("sim:h200:devices=2");
  const Benchmark benchmark = training_benchmark(*machine, shards_of_7b(3, Parallel::zero3), {});
  for (const Case& one : benchmark.cases) {
    const Measurement result = one.run();
    std::map<double, double> main_stream;  // ends by begins
    std::set<double> collectives_end;
    std::vector<double> waits;
    for (const auto& [name, ends] : result.curves) {
      const bool beside = name == "timeline_all_gather" || name == "timeline_reduce_scatter";
      for (std::size_t i = 0; i < ends.size(); i += 2) {
        if (beside) collectives_end.insert(ends[i + 1]);
        if (!beside) main_stream.emplace(ends[i], ends[i + 1]);
        if (name == "timeline_wait") waits.push_back(ends[i + 1]);
      }
    }
    double last = 0;
    for (const auto& [begin, end] : main_stream) {
      EXPECT_EQ(begin, last);
      last = end;
    }
    EXPECT_NEAR(last, result.sampling->samples.front(), 0.02 * last);
    const bool communicates = one.id.engine == "dma";
    EXPECT_EQ(!collectives_end.empty(), communicates);
    EXPECT_EQ(!waits.empty(), communicates);
    for (const double end : waits) EXPECT_EQ(collectives_end.count(end), 1u) << end;
  }
}

// Sums behind the backward pass are not the optimizer's time.
TEST(TrainingCases, TimelinesShowLateSums) {
  const auto machine = open_machine("sim:h200:devices=2");
  const auto seconds = [&](const char* row, bool late_sums) {
    TrainingOptions options = shards_of_7b(3, Parallel::zero3);
    options.parallel.late_sums = late_sums;
    const Measurement step = training_benchmark(*machine, options, {}).cases.front().run();
    double sum = 0;
    for (const auto& [name, ends] : step.curves) {
      if (name != row) continue;
      for (std::size_t i = 0; i < ends.size(); i += 2) sum += ends[i + 1] - ends[i];
    }
    return sum;
  };
  const double optimizer = seconds("timeline_optimizer", false);
  EXPECT_NEAR(seconds("timeline_optimizer", true), optimizer, 0.01 * optimizer);
  EXPECT_GT(seconds("timeline_elementwise", true), 1.1 * seconds("timeline_elementwise", false));
}

TEST(TrainingCases, RefuseEnginesThatTheMachineDoesNotHave) {
  const auto machine = open_machine("host:2");
  TrainingOptions options;
  options.parallel.kind = Parallel::ddp;
  options.engines = {"abacus"};
  EXPECT_THROW(training_benchmark(*machine, options, {}), UsageError);
}

TEST(TrainingCases, PartsAddUpToTheStep) {
  const auto machine = open_machine("sim:h200:devices=1");
  TrainingOptions options = options_of(describe(find_gpt("small")), "amp");
  options.breakdown = true;
  const Measurement one = training_benchmark(*machine, options, {}).cases.front().run();
  const double step = summarise(one.sampling->samples).median;
  double sum = 0;
  for (const auto& [metric, value] : one.metrics) {
    if (metric.find("_seconds") != std::string::npos) sum += value;
  }
  EXPECT_NEAR(sum, step, 0.05 * step);
}

// Of a step by the recipe amp, which needs 16 bytes a parameter.
TEST(TrainingCases, AModelThatDoesNotFitIsOutOfMemory) {
  const auto machine = open_machine("sim:h200:devices=1");
  const ModelDescription model = describe(find_gpt("7b"));
  GptConfig long_sequences = find_gpt("7b");
  long_sequences.sequence = 1 << 20;
  const auto expect = [&](const ModelDescription& one, const std::vector<std::string>& words) {
    const std::string text = message_of<OutOfMemory>(
        [&] { training_benchmark(*machine, options_of(one, "amp"), {}).cases.front().run(); });
    std::size_t place = 0;
    for (const std::string& each : words) {
      place = text.find(each, place);
      ASSERT_NE(place, std::string::npos) << each << " in: " << text;
    }
  };
  expect(describe(find_gpt("13b")), {});                             // 162 GB
  expect(model.with_batch(1 << 20), {"has 150", "batch 16 needs"});  // answered at once, too
  // Sizes are more than 64 bits can count.
  expect(describe(long_sequences).with_batch(1 << 20),
         {"needs more than 1 EiB of memory", "; batch 1 needs ", " GB"});
  const Buffer others = machine->device(0).allocate(60'000'000'000);
  expect(model, {"leave too little"});
}

}  // namespace
}  // namespace duet
