#include "training/parallel/gradient_buckets.h"

#include <gtest/gtest.h>

#include <cmath>

#include "training/parallel/parallel_fixture.h"

namespace duet {
namespace {

std::vector<float> all_gradients(Device& device, RankModel& own) {
  own.stream->synchronize(kParallelDeadline);
  std::vector<float> all;
  for (const Tensor& each : own.model.parameters().gradients()) {
    const std::vector<float> values = values_on(device, each);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

class Buckets : public ParallelTest {
 protected:
  // The gradients that each rank has in the end, and how many buckets there are.
  std::vector<std::vector<float>> summed(std::uint64_t least_bytes, std::size_t& buckets) {
    Team team(*machine_);
    const auto session = engine().open(team);
    std::vector<std::vector<float>> all(static_cast<std::size_t>(team.size()));
    team.each([&](Rank& rank) {
      RankModel own(rank.device, several_blocks(kRankBatch), rank.index * kRankBatch);
      std::vector<ParameterRange> ranges;
      own.model.forward(*own.stream);
      own.model.backward(*own.stream, Accumulate::no,
                         [&](const ParameterRange& range) { ranges.push_back(range); });
      own.stream->synchronize(kParallelDeadline);
      GradientBuckets sums(rank, *session, own.model, ranges, least_bytes, {});
      for (const TrainedParameter& each : own.model.parameters().all()) {
        own.stream->fill(each.tensors.gradients.span, {FillKind::constant, 0xFF});
      }
      own.stream->synchronize(kParallelDeadline);
      rank.team.barrier("all ranks to have no gradients");
      own.model.forward(*own.stream);
      sums.backward(*own.stream, Accumulate::no);
      all[static_cast<std::size_t>(rank.index)] = all_gradients(rank.device, own);
      if (rank.index == 0) buckets = sums.count();
      rank.team.barrier("all ranks to have read their gradients");
    });
    return all;
  }
};

// Losses are means, so that the sum of the ranks' gradients is their number times the whole's.
TEST_P(Buckets, SumToTheGradientsOfAllBatchesOnOneDevice) {
  const int ranks = machine_->size();
  RankModel whole(machine_->device(0), several_blocks(kRankBatch * ranks), 0);
  whole.model.forward(*whole.stream);
  whole.model.backward(*whole.stream, Accumulate::no);
  const std::vector<float> expected = all_gradients(machine_->device(0), whole);
  float largest = 0;
  for (const float each : expected) largest = std::max(largest, std::abs(each));
  // On GPUs ranks tune GEMMs at the same time in the first run. Of different choices for one shape
  // the last is kept, and all later runs have it.
  std::size_t tuned = 0;
  summed(1, tuned);
  for (const std::uint64_t least_bytes : {1, 10000, 1 << 30}) {
    std::size_t buckets = 0;
    const auto all = summed(least_bytes, buckets);
    // By block, with embeddings and the last norm apart, of parameters that decay and others.
    EXPECT_EQ(buckets, least_bytes == 1 ? 12u : least_bytes == 10000 ? 7u : 2u);
    for (const auto& each : all) EXPECT_TRUE(each == all.front());
    ASSERT_EQ(all.front().size(), expected.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const float difference = all.front()[i] / static_cast<float>(ranks) - expected[i];
      wrong += std::abs(difference) <= 1e-5F * largest ? 0 : 1;  // NaN is wrong
    }
    EXPECT_EQ(wrong, 0u) << least_bytes;
    std::size_t same = 0;
    EXPECT_TRUE(summed(least_bytes, same) == all);  // bits do not change from run to run
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Buckets, parallel_machines(), parallel_label);

}  // namespace
}  // namespace duet
