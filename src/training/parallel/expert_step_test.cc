#include "training/parallel/expert_step.h"

#include <gtest/gtest.h>

#include <cmath>

#include "training/models/qwen3.h"
#include "training/parallel/parallel_fixture.h"

namespace duet {
namespace {

// 24 experts, which 2, 3, 4 and 8 ranks divide.
Qwen3Config many_experts(std::int64_t batch) {
  Qwen3Config config = find_qwen3_moe("tiny");
  config.experts = 24;
  config.chosen = 5;
  config.vocabulary = 37;
  config.batch = batch;
  config.sequence = 11;
  return config;
}

using ExpertModel = RankModelOf<Qwen3, Qwen3Config>;

// The elements of a whole parameter that a rank has, of which whole rows are divided.
std::vector<float> rows_of_rank(const std::vector<float>& whole, const ModelParameter& about) {
  if (about.part.is_whole()) return whole;
  const RowRange& rows = about.part.ranges.front();
  return {whole.begin() + rows.first * about.columns, whole.begin() + rows.last * about.columns};
}

// Relative to the norm of what is expected; of gradients that are sums over `ranks` batches.
double difference_of(const std::vector<float>& found, const std::vector<float>& expected,
                     double ranks) {
  if (found.size() != expected.size()) return INFINITY;
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto wanted = static_cast<double>(expected[i]);
    difference += std::pow(static_cast<double>(found[i]) / ranks - wanted, 2);
    norm += wanted * wanted;
  }
  return std::sqrt(difference / norm);
}

class ExpertSteps : public ParallelTest {
 protected:
  // Twice, since a second step sees what the first has left.
  static void pass_twice(ExpertModel& own, ParallelStep& step) {
    for (int i = 0; i < 2; ++i) {
      step.forward(*own.stream);
      step.backward(*own.stream, Accumulate::no);
    }
    own.stream->synchronize(kParallelDeadline);
  }

  std::unique_ptr<ParallelStep> step_of(Rank& rank, CollectiveSession& session, ExpertModel& own) {
    std::vector<ParameterRange> ranges;
    own.model.forward(*own.stream);
    own.model.backward(*own.stream, Accumulate::no,
                       [&](const ParameterRange& range) { ranges.push_back(range); });
    own.stream->synchronize(kParallelDeadline);
    const ParallelSettings settings{Parallel::ep, &session, 1000};
    return make_parallel_step(settings, rank, own.model, ranges, {1});
  }
};

TEST_P(ExpertSteps, LossesAndGradientsAreThoseOfOneDevice) {
  const std::int64_t ranks = machine_->size();
  if (24 % ranks != 0) GTEST_SKIP() << ranks << " ranks cannot divide the experts";
  const auto alone = open_machine("host");
  ExpertModel whole(alone->device(0), many_experts(ranks * kRankBatch), 0);
  AloneStep step(whole.model);
  pass_twice(whole, step);
  std::vector<std::vector<float>> expected;
  for (const Parameters::Kept& each : whole.model.parameters().kept())
    expected.push_back(values_on(alone->device(0), each.tensors.gradients));
  const float loss = values_on(alone->device(0), whole.model.loss()).front();

  Team team(*machine_);
  const auto session = engine().open(team);
  double sum_of_losses = 0;
  std::vector<float> losses(static_cast<std::size_t>(ranks));
  team.each([&](Rank& rank) {
    ModelShard shard;
    shard.experts = {rank.index, rank.size};
    ExpertModel own(rank.device, many_experts(kRankBatch), rank.index * kRankBatch, shard);
    const auto parallel = step_of(rank, *session, own);
    pass_twice(own, *parallel);
    losses[static_cast<std::size_t>(rank.index)] = values_on(rank.device, own.model.loss()).front();
    std::size_t parameter = 0;
    for (const Parameters::Kept& each : own.model.parameters().kept()) {
      const std::vector<float> gradient = values_on(rank.device, each.tensors.gradients);
      const std::vector<float> wanted = rows_of_rank(expected[parameter++], *each.about);
      EXPECT_LT(difference_of(gradient, wanted, static_cast<double>(ranks)), 1e-4)
          << each.about->name << " on rank " << rank.index;
    }
    rank.team.barrier("all ranks to have looked");
  });
  for (const float each : losses) sum_of_losses += static_cast<double>(each);
  EXPECT_NEAR(sum_of_losses / static_cast<double>(ranks), static_cast<double>(loss), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Engines, ExpertSteps, parallel_machines(), parallel_label);

}  // namespace
}  // namespace duet
