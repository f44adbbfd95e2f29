// What holds for each model of tokens, on a host device.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "training/models/derivative_fixture.h"
#include "training/models/gpt.h"
#include "training/models/qwen3.h"
#include "training/parallel/parallel_fixture.h"

namespace duet {
namespace {

// Odd sizes, and how near gradients are to differences of the loss.
template <typename Model>
struct Odd;

template <>
struct Odd<Gpt> {
  // Layers, heads, width, FFN width, vocabulary, batch, sequence.
  GptConfig config{"tiny", 2, 3, 24, 40, 37, 2, 11};
  double relative = 0.02, absolute = 2e-5;
};

template <>
struct Odd<Qwen3> {
  // More tokens than are a piece of the head.
  Qwen3Config config{"odd", 2, 6, 2, 10, 28, 44, 37, 3, 350};
  double relative = 0.03, absolute = 3e-5;
};

template <typename Model>
class TokenModels : public ::testing::Test {
 protected:
  using Own = RankModelOf<Model, decltype(Odd<Model>::config)>;

  static double loss(Own& own) {
    own.model.forward(*own.stream);
    own.model.evaluate(*own.stream);
    own.stream->synchronize(kParallelDeadline);
    return static_cast<double>(*reinterpret_cast<float*>(own.model.loss().span.data));
  }

  std::vector<std::vector<float>> gradients(Own& own, Accumulate accumulate = Accumulate::no,
                                            const GradientsComplete& complete = {}) {
    own.model.forward(*own.stream);
    own.model.backward(*own.stream, accumulate, complete);
    own.stream->synchronize(kParallelDeadline);
    std::vector<std::vector<float>> all;
    for (const TrainedParameter& each : own.model.parameters().all()) {
      all.push_back(values_on(device_, each.tensors.gradients));
    }
    return all;
  }

  std::unique_ptr<Machine> machine_ = open_machine("host");
  Device& device_ = machine_->device(0);
  Odd<Model> odd_;
  Own own_{device_, odd_.config, 0};
};

using AllTokenModels = ::testing::Types<Gpt, Qwen3>;
TYPED_TEST_SUITE(TokenModels, AllTokenModels);

TYPED_TEST(TokenModels, StartNearTheLossOfAGuess) {
  EXPECT_NEAR(this->loss(this->own_), std::log(37.0), 0.05);
}

TYPED_TEST(TokenModels, BackwardIsTheDerivativeOfTheLoss) {
  this->gradients(this->own_);
  expect_differences_of_loss(
      this->own_.model.parameters(), [&] { return this->loss(this->own_); }, this->odd_.relative,
      this->odd_.absolute);
}

TYPED_TEST(TokenModels, GradientsAreAdded) {
  const auto once = this->gradients(this->own_),
             twice = this->gradients(this->own_, Accumulate::yes);
  for (std::size_t i = 0; i < once.size(); ++i) {
    for (std::size_t j = 0; j < once[i].size(); ++j) {
      ASSERT_NEAR(twice[i][j], 2 * once[i][j], 1e-6 + 1e-4 * std::abs(once[i][j]))
          << this->own_.model.parameters().all()[i].about.name;
    }
  }
}

TYPED_TEST(TokenModels, TellOfEachParameterOnceThatItsGradientIsComplete) {
  std::vector<int> told(this->own_.model.parameters().all().size());
  this->gradients(this->own_, Accumulate::no, [&](const ParameterRange& range) {
    for (std::size_t i = range.first; i < range.last; ++i) ++told.at(i);
  });
  EXPECT_EQ(told, std::vector<int>(told.size(), 1));
}

// In another block's workspace, by the same calls.
TYPED_TEST(TokenModels, WhatIsRecomputedHasTheSameBits) {
  const auto kept = this->gradients(this->own_);
  std::uint64_t bytes = this->own_.model.memory().bytes(MemoryUse::activations);
  for (const Recompute recompute : {Recompute::attention, Recompute::block}) {
    auto config = this->odd_.config;
    config.recompute = recompute;
    typename TestFixture::Own other(this->device_, config, 0);
    EXPECT_TRUE(this->gradients(other) == kept) << name(recompute);
    EXPECT_LT(other.model.memory().bytes(MemoryUse::activations), bytes) << name(recompute);
    bytes = other.model.memory().bytes(MemoryUse::activations);
  }
}

}  // namespace
}  // namespace duet
