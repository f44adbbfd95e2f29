#include "training/parallel/tensor_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "training/models/qwen3.h"
#include "training/parallel/parallel_fixture.h"

namespace duet {
namespace {

constexpr int kTensorSteps = 2;
constexpr double kTensorScale = 0.5, kTensorLimit = 0.2;  // of Clip

// For 2, 3, 4 and 8 ranks, of which 2, 3 and 8 have parts of the vocabulary of different sizes.
GptConfig divisible_gpt() { return {"tiny", 2, 24, 192, 192, 37, 2, 12}; }

Qwen3Config divisible_qwen3() {
  Qwen3Config config;
  config.layers = 2;
  config.heads = 48;
  config.kv_heads = 24;
  config.head_width = 16;
  config.width = 40;
  config.ffn_width = 192;
  config.vocabulary = 37;
  config.batch = 2;
  config.sequence = 12;
  return config;
}

// Of one rank, or of one device.
struct TensorResult {
  std::vector<float> losses, norms;  // by step
  std::vector<ModelParameter> about;
  std::vector<std::vector<float>> gradients, parameters;
};

template <typename OwnModel>
TensorResult run_steps(OwnModel& own, ParallelStep& step, Accumulate accumulate) {
  TensorResult result;
  Device& device = own.stream->device();
  const StepState state{1, 0, 1e-3, 1};
  device.write(own.model.state(), &state);
  for (int i = 0; i < kTensorSteps; ++i) {
    if (accumulate == Accumulate::yes) {
      own.model.forward(*own.stream);
      own.model.backward(*own.stream, Accumulate::no);
    }
    step.forward(*own.stream);
    step.backward(*own.stream, accumulate);
    own.model.clip(*own.stream, kTensorScale, kTensorLimit, [&] { step.sum_squares(*own.stream); });
    own.model.update(*own.stream);
    own.stream->synchronize(kParallelDeadline);
    result.losses.push_back(values_on(device, own.model.loss()).front());
    result.norms.push_back(values_on(device, own.model.gradient_norm()).front());
  }
  for (const Parameters::Kept& each : own.model.parameters().kept()) {
    result.about.push_back(*each.about);
    result.gradients.push_back(values_on(device, each.tensors.gradients));
    result.parameters.push_back(values_on(device, each.tensors.parameters));
  }
  return result;
}

// What a rank has of the values of a whole parameter.
std::vector<float> part_of(const std::vector<float>& whole, const ModelParameter& about) {
  if (about.part.is_whole()) return whole;
  std::vector<float> values;
  for (const RowRange& each : about.part.ranges) {
    for (std::int64_t row = each.first; row < each.last; ++row) {
      const auto first = whole.begin() + row * about.part.columns + about.part.first_column;
      values.insert(values.end(), first, first + about.columns);
    }
  }
  return values;
}

// Relative to values above 1; infinite where one is NaN.
double largest_difference(const std::vector<float>& found, const std::vector<float>& expected) {
  if (found.size() != expected.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto wanted = static_cast<double>(expected[i]);
    const double difference = std::abs(static_cast<double>(found[i]) - wanted);
    const double relative = difference / std::max(1.0, std::abs(wanted));
    largest = std::isnan(relative) ? INFINITY : std::max(largest, relative);
  }
  return largest;
}

// The tolerances are those of sums in another order.
void expect_shards_of(const TensorResult& whole, const std::vector<TensorResult>& ranks,
                      double tolerance) {
  for (const TensorResult& own : ranks) {
    ASSERT_EQ(own.about.size(), whole.about.size());
    EXPECT_LE(largest_difference(own.losses, whole.losses), tolerance);
    EXPECT_LE(largest_difference(own.norms, whole.norms), tolerance);
    EXPECT_EQ(own.losses, ranks.front().losses);
    EXPECT_EQ(own.norms, ranks.front().norms);
    for (std::size_t i = 0; i < own.about.size(); ++i) {
      SCOPED_TRACE(own.about[i].name);
      EXPECT_LE(largest_difference(own.gradients[i], part_of(whole.gradients[i], own.about[i])),
                tolerance);
      // AdamW divides by the gradient's magnitude, so that small ones that differ move parameters
      // more.
      EXPECT_LE(largest_difference(own.parameters[i], part_of(whole.parameters[i], own.about[i])),
                10 * tolerance);
      if (!own.about[i].part.is_whole()) continue;
      EXPECT_TRUE(own.parameters[i] == ranks.front().parameters[i]);
    }
  }
}

class TensorParallel : public ParallelTest {
 protected:
  void SetUp() override {
    ParallelTest::SetUp();
    if (IsSkipped() || divisible(machine_->size())) return;
    GTEST_SKIP() << machine_->size() << " ranks cannot divide the models";
  }
  static bool divisible(int ranks) {
    return describe(divisible_gpt()).why_not_divisible(ranks).empty() &&
           describe(divisible_qwen3()).why_not_divisible(ranks).empty();
  }

  // `alone`: by AloneStep.
  template <typename OwnModel, typename Config>
  std::vector<TensorResult> run(const Config& config, Accumulate accumulate, bool alone = false) {
    Team team(*machine_);
    const auto session = engine().open(team);
    std::vector<TensorResult> results(static_cast<std::size_t>(team.size()));
    team.each([&](Rank& rank) {
      RankModelOf<OwnModel, Config> own(rank.device, config, 0, TensorShard{rank.index, rank.size});
      std::unique_ptr<ParallelStep> step;
      if (alone) {
        step = std::make_unique<AloneStep>(own.model);
      } else {
        step = std::make_unique<TensorStep>(rank, *session, own.model);
      }
      rank.team.barrier("all ranks to have plans");
      results[static_cast<std::size_t>(rank.index)] = run_steps(own, *step, accumulate);
      rank.team.barrier("all ranks to have read their shards");
    });
    return results;
  }

  template <typename OwnModel, typename Config>
  TensorResult whole(const Config& config, Accumulate accumulate) {
    RankModelOf<OwnModel, Config> own(machine_->device(0), config, 0);
    AloneStep step(own.model);
    return run_steps(own, step, accumulate);
  }

  template <typename OwnModel, typename Config>
  void expect_those_of_one_device(const Config& config, Accumulate accumulate = Accumulate::no) {
    const double tolerance = machine_->device(0).info().kind == "cuda" ? 1e-4 : 2e-5;
    expect_shards_of(whole<OwnModel>(config, accumulate), run<OwnModel>(config, accumulate),
                     tolerance);
  }
};

TEST_P(TensorParallel, StepsOfAGptAreThoseOfOneDevice) {
  expect_those_of_one_device<Gpt>(divisible_gpt());
}

TEST_P(TensorParallel, StepsOfAQwen3AreThoseOfOneDevice) {
  expect_those_of_one_device<Qwen3>(divisible_qwen3());
}

TEST_P(TensorParallel, StepsOfTwoBatchesAreThoseOfOneDevice) {
  expect_those_of_one_device<Gpt>(divisible_gpt(), Accumulate::yes);
}

TEST_P(TensorParallel, StepsThatRecomputeAreThoseOfOneDevice) {
  GptConfig gpt = divisible_gpt();
  gpt.recompute = Recompute::attention;
  expect_those_of_one_device<Gpt>(gpt);
  Qwen3Config qwen3 = divisible_qwen3();
  qwen3.recompute = Recompute::block;
  expect_those_of_one_device<Qwen3>(qwen3);
}

TEST_P(TensorParallel, RepeatToTheBit) {
  const auto once = run<Gpt>(divisible_gpt(), Accumulate::no);
  const auto again = run<Gpt>(divisible_gpt(), Accumulate::no);
  for (std::size_t rank = 0; rank < once.size(); ++rank) {
    EXPECT_TRUE(once[rank].parameters == again[rank].parameters);
  }
}

// Without sums over ranks the losses are others, by more than what is tolerated.
TEST_P(TensorParallel, NeedTheirExchanges) {
  const auto alone = run<Gpt>(divisible_gpt(), Accumulate::no, true);
  const TensorResult expected = whole<Gpt>(divisible_gpt(), Accumulate::no);
  EXPECT_GT(largest_difference(alone.front().losses, expected.losses), 1e-2);
}

INSTANTIATE_TEST_SUITE_P(Engines, TensorParallel, parallel_machines(), parallel_label);

// Whose weights together are those of one device, at the beginning, to the bit.
TEST(TensorShards, BeginAsOneDevice) {
  const auto machine = open_machine("host:1");
  Device& device = machine->device(0);
  const RankModelOf<Qwen3, Qwen3Config> whole(device, divisible_qwen3(), 0);
  std::vector<std::int64_t> counts(whole.model.parameters().all().size());
  for (int rank = 0; rank < 4; ++rank) {
    const RankModelOf<Qwen3, Qwen3Config> shard(device, divisible_qwen3(), 0, TensorShard{rank, 4});
    EXPECT_TRUE(shard.model.parameters().is_divided());
    for (const Parameters::Kept& each : shard.model.parameters().kept()) {
      const auto all = whole.model.parameters().kept()[each.parameter];
      EXPECT_TRUE(values_on(device, each.tensors.parameters) ==
                  part_of(values_on(device, all.tensors.parameters), *each.about))
          << each.about->name;
      if (rank == 0 || !each.about->part.is_whole()) counts[each.parameter] += each.about->count();
    }
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    EXPECT_EQ(counts[i], whole.model.parameters().all()[i].about.count());
  }
}

TEST(TensorShards, OfOneRankAreTheModel) {
  const auto machine = open_machine("host:1");
  const RankModel one(machine->device(0), divisible_gpt(), 0, TensorShard{0, 1});
  EXPECT_FALSE(one.model.parameters().is_divided());
  EXPECT_EQ(one.model.memory().total_bytes(),
            RankModel(machine->device(0), divisible_gpt(), 0).model.memory().total_bytes());
}

TEST(TensorShards, SayWhatCannotBeDivided) {
  const auto why = describe(divisible_qwen3()).why_not_divisible;
  EXPECT_EQ(why(4), "");
  EXPECT_EQ(why(5), "48 heads, which 5 ranks cannot divide");
  EXPECT_EQ(why(16), "24 KV heads, which 16 ranks cannot divide");
  Qwen3Config odd = divisible_qwen3();
  odd.ffn_width = 6;
  EXPECT_EQ(describe(odd).why_not_divisible(4), "6 FFN columns, which 4 ranks cannot divide");
  odd = divisible_qwen3();
  odd.batch = 1;
  odd.sequence = 11;
  EXPECT_EQ(describe(odd).why_not_divisible(2),
            "11 tokens of a batch, which 2 ranks cannot divide");
  odd = divisible_qwen3();
  odd.vocabulary = 3;
  EXPECT_EQ(describe(odd).why_not_divisible(4), "a vocabulary of 3, fewer than 4 ranks");
}

}  // namespace
}  // namespace duet
