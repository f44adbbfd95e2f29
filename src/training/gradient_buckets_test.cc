#include "training/gradient_buckets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/random.h"
#include "device/machine.h"
#include "training/gpt.h"

namespace duet {
namespace {

constexpr double kBucketsDeadline = 60;
constexpr std::int64_t kBatch = 2;  // of a rank

// Layers, heads, width, FFN width, vocabulary, batch, sequence.
GptConfig three_blocks(std::int64_t batch) { return {"tiny", 3, 3, 24, 40, 37, batch, 11}; }

std::vector<float> values_on(Device& device, const Tensor& tensor) {
  std::vector<float> all(static_cast<std::size_t>(tensor.count()));
  device.read(tensor.span, all.data());
  return all;
}

// A model on a device, with sequences [first, first + config.batch) of a list that all ranks know.
struct Trained {
  Trained(Device& device, const GptConfig& config, std::int64_t first)
      : operations(make_operations(device)),
        model(config, find_recipe("fp32"), {}, device, *operations),
        stream(device.make_stream()) {
    model.allocate();
    model.initialise(1);
    std::vector<std::int32_t> tokens, targets;
    for (std::int64_t i = 0; i < config.tokens(); ++i) {
      const auto at = static_cast<std::uint64_t>(first * config.sequence + i);
      tokens.push_back(static_cast<std::int32_t>(random_word(5, at) % 37));
      targets.push_back(static_cast<std::int32_t>(random_word(6, at) % 37));
    }
    device.write(model.tokens().span, tokens.data());
    device.write(model.targets().span, targets.data());
  }

  std::vector<float> gradients(Device& device) {
    stream->synchronize(kBucketsDeadline);
    std::vector<float> all;
    for (const Tensor& each : model.parameters().gradients()) {
      const std::vector<float> own = values_on(device, each);
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }

  std::unique_ptr<Operations> operations;
  Gpt model;
  std::unique_ptr<Stream> stream;
};

class Buckets : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  // The gradients that each rank has in the end, and how many buckets there are.
  std::vector<std::vector<float>> summed(std::uint64_t least_bytes, std::size_t& buckets) {
    Team team(*machine_);
    CollectiveEngine& engine = *engines_named(*machine_, {std::get<1>(GetParam())}).front();
    const auto session = engine.open(team);
    std::vector<std::vector<float>> all(static_cast<std::size_t>(team.size()));
    team.each([&](Rank& rank) {
      Trained own(rank.device, three_blocks(kBatch), rank.index * kBatch);
      std::vector<ParameterRange> ranges;
      own.model.forward(*own.stream);
      own.model.backward(*own.stream, Accumulate::no,
                         [&](const ParameterRange& range) { ranges.push_back(range); });
      own.stream->synchronize(kBucketsDeadline);
      GradientBuckets sums(rank, *session, own.model, ranges, least_bytes, {});
      for (const TrainedParameter& each : own.model.parameters().all()) {
        own.stream->fill(each.tensors.gradients.span, {FillKind::constant, 0xFF});
      }
      own.stream->synchronize(kBucketsDeadline);
      rank.team.barrier("all ranks to have no gradients");
      own.model.forward(*own.stream);
      sums.backward(*own.stream, Accumulate::no);
      all[static_cast<std::size_t>(rank.index)] = own.gradients(rank.device);
      if (rank.index == 0) buckets = sums.count();
      rank.team.barrier("all ranks to have read their gradients");
    });
    return all;
  }

  std::unique_ptr<Machine> machine_ = open_machine(std::get<0>(GetParam()));
};

// Losses are means, so that the sum of the ranks' gradients is their number times the whole's.
TEST_P(Buckets, SumToTheGradientsOfAllBatchesOnOneDevice) {
  const int ranks = machine_->size();
  Trained whole(machine_->device(0), three_blocks(kBatch * ranks), 0);
  whole.model.forward(*whole.stream);
  whole.model.backward(*whole.stream, Accumulate::no);
  const std::vector<float> expected = whole.gradients(machine_->device(0));
  float largest = 0;
  for (const float each : expected) largest = std::max(largest, std::abs(each));
  for (const std::uint64_t least_bytes : {1, 10000, 1 << 30}) {
    std::size_t buckets = 0;
    const auto all = summed(least_bytes, buckets);
    // By block, with embeddings and the last norm apart, of parameters that decay and others.
    EXPECT_EQ(buckets, least_bytes == 1 ? 8u : least_bytes == 10000 ? 5u : 2u);
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

INSTANTIATE_TEST_SUITE_P(Engines, Buckets,
                         ::testing::Combine(::testing::Values("host:4", "host:3",
                                                              "sim:h200:devices=2"),
                                            ::testing::Values("dma", "kernel")));

}  // namespace
}  // namespace duet
