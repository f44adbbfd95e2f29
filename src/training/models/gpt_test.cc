#include "training/models/gpt.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "core/error.h"
#include "core/random.h"
#include "device/machine.h"
#include "training/models/derivative_fixture.h"

namespace duet {
namespace {

constexpr double kDeadline = 60;

// Layers, heads, width, FFN width, vocabulary, batch, sequence.
GptConfig tiny() { return {"tiny", 2, 3, 24, 40, 37, 2, 11}; }

class GptTest : public ::testing::Test {
 protected:
  GptTest()
      : machine_(open_machine("host")),
        device_(machine_->device(0)),
        operations_(make_operations(device_)),
        model_(tiny(), find_recipe("fp32"), {}, device_, *operations_),
        stream_(device_.make_stream()) {
    model_.allocate();
    model_.initialise(1);
    std::vector<std::int32_t> tokens, targets;
    for (std::int64_t i = 0; i < model_.config().tokens(); ++i) {
      const auto at = static_cast<std::uint64_t>(i);
      tokens.push_back(static_cast<std::int32_t>(random_word(5, at) % 37));
      targets.push_back(static_cast<std::int32_t>(random_word(6, at) % 37));
    }
    device_.write(model_.tokens().span, tokens.data());
    device_.write(model_.targets().span, targets.data());
  }

  double loss() {
    model_.forward(*stream_);
    model_.evaluate(*stream_);
    stream_->synchronize(kDeadline);
    return static_cast<double>(*reinterpret_cast<float*>(model_.loss().span.data));
  }

  void gradients() {
    model_.forward(*stream_);
    model_.backward(*stream_, Accumulate::no);
    stream_->synchronize(kDeadline);
  }

  static float* data(const Tensor& tensor) { return reinterpret_cast<float*>(tensor.span.data); }

  std::unique_ptr<Machine> machine_;
  Device& device_;
  std::unique_ptr<Operations> operations_;
  Gpt model_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(GptTest, StartsNearTheLossOfAGuess) { EXPECT_NEAR(loss(), std::log(37.0), 0.05); }

TEST_F(GptTest, BackwardIsTheDerivativeOfTheLoss) {
  gradients();
  expect_differences_of_loss(
      model_.parameters(), [this] { return loss(); }, 0.02, 2e-5);
}

TEST_F(GptTest, GradientsAreAdded) {
  gradients();
  const auto& weight = model_.parameters().all().at(3).tensors;
  const std::vector<float> once(data(weight.gradients),
                                data(weight.gradients) + weight.gradients.count());
  model_.forward(*stream_);
  model_.backward(*stream_, Accumulate::yes);
  stream_->synchronize(kDeadline);
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_NEAR(data(weight.gradients)[i], 2 * once[i], 1e-6);
  }
}

TEST_F(GptTest, TellsOfEachParameterOnceThatItsGradientIsComplete) {
  std::vector<int> told(model_.parameters().all().size());
  model_.forward(*stream_);
  model_.backward(*stream_, Accumulate::no, [&](const ParameterRange& range) {
    for (std::size_t i = range.first; i < range.last; ++i) ++told.at(i);
  });
  stream_->synchronize(kDeadline);
  EXPECT_EQ(told, std::vector<int>(told.size(), 1));
}

TEST_F(GptTest, UpdatesBesideTheBackwardPassToTheSameBits) {
  ForkedStream updates(device_, {});
  std::vector<float> after;
  for (const bool beside : {false, true}) {
    model_.initialise(1);
    const StepState state{1, 0, 1e-2, 1};
    device_.write(model_.state(), &state);
    model_.forward(*stream_);
    if (beside) {
      model_.backward_beside_update(*stream_, updates, Accumulate::no);
    } else {
      model_.backward(*stream_, Accumulate::no);
      model_.update(*stream_);
    }
    stream_->synchronize(kDeadline);
    std::vector<float> now;
    for (const TrainedParameter& each : model_.parameters().all()) {
      const Tensor& tensor = each.tensors.parameters;
      now.insert(now.end(), data(tensor), data(tensor) + tensor.count());
    }
    if (beside) {
      EXPECT_EQ(now, after);
    }
    after = now;
  }
}

TEST_F(GptTest, LearnsOneBatchByHeart) {
  auto& state = *reinterpret_cast<StepState*>(model_.state().data);
  for (int step = 1; step <= 150; ++step) {
    state = {step, 0, 1e-2, 1};
    gradients();
    model_.update(*stream_);
    stream_->synchronize(kDeadline);
  }
  EXPECT_LT(loss(), 0.05);
}

TEST_F(GptTest, ClipsByTheNorm) {
  gradients();
  double squares = 0;
  for (const TrainedParameter& each : model_.parameters().all()) {
    for (std::int64_t i = 0; i < each.about.count(); ++i) {
      squares += std::pow(static_cast<double>(data(each.tensors.gradients)[i]), 2);
    }
  }
  const double norm = std::sqrt(squares);
  const auto& state = *reinterpret_cast<StepState*>(model_.state().data);
  const auto clipped = [&](double scale, double limit) {
    model_.clip(*stream_, scale, limit);
    stream_->synchronize(kDeadline);
    EXPECT_NEAR(static_cast<double>(*data(model_.gradient_norm())), scale * norm, 1e-5 * norm);
    return state.gradient_factor;
  };
  EXPECT_NEAR(clipped(1, norm / 2), 0.5, 1e-5);
  EXPECT_EQ(clipped(1, 2 * norm), 1);
  EXPECT_EQ(clipped(0.25, norm / 2), 0.25);
  EXPECT_NEAR(clipped(0.25, norm / 8), 0.125, 1e-5);
}

TEST_F(GptTest, TheSameSeedGivesTheSameBits) {
  const double first = loss();
  model_.initialise(1);
  EXPECT_EQ(loss(), first);
  model_.initialise(2);
  EXPECT_NE(loss(), first);
}

// In another block's workspace, by the same calls.
TEST_F(GptTest, WhatIsRecomputedHasTheSameBits) {
  loss();
  model_.backward(*stream_, Accumulate::no);
  stream_->synchronize(kDeadline);
  std::uint64_t bytes = model_.memory().bytes(MemoryUse::activations);
  for (const Recompute recompute : {Recompute::attention, Recompute::block}) {
    GptConfig config = tiny();
    config.recompute = recompute;
    Gpt other(config, find_recipe("fp32"), {}, device_, *operations_);
    other.allocate();
    other.initialise(1);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(config.tokens()));
    for (const auto& [from, to] : {std::pair(&model_.tokens(), &other.tokens()),
                                   std::pair(&model_.targets(), &other.targets())}) {
      device_.read(from->span, tokens.data());
      device_.write(to->span, tokens.data());
    }
    other.forward(*stream_);
    other.backward(*stream_, Accumulate::no);
    stream_->synchronize(kDeadline);
    for (std::size_t i = 0; i < other.parameters().all().size(); ++i) {
      const TrainedParameter& own = other.parameters().all()[i];
      const Tensor& expected = model_.parameters().all()[i].tensors.gradients;
      EXPECT_EQ(std::memcmp(own.tensors.gradients.span.data, expected.span.data, expected.bytes()),
                0)
          << name(recompute) << ": " << own.about.name;
    }
    EXPECT_LT(other.memory().bytes(MemoryUse::activations), bytes) << name(recompute);
    bytes = other.memory().bytes(MemoryUse::activations);
  }
}

TEST_F(GptTest, PlansItsMemoryByUse) {
  const MemoryPlan& memory = model_.memory();
  const std::int64_t padding = (128 - 37) * model_.config().width;
  const auto bytes = 4 * static_cast<std::uint64_t>(parameter_count(model_.config()) + padding);
  EXPECT_GE(memory.bytes(MemoryUse::parameters), bytes);
  EXPECT_LT(memory.bytes(MemoryUse::parameters), bytes + 512 * model_.parameters().all().size());
  EXPECT_EQ(memory.bytes(MemoryUse::gradients), memory.bytes(MemoryUse::parameters));
  EXPECT_EQ(memory.bytes(MemoryUse::optimizer_states), 2 * memory.bytes(MemoryUse::parameters));
  std::uint64_t sum = 0;
  for (std::size_t use = 0; use < kMemoryUses; ++use) {
    sum += memory.bytes(static_cast<MemoryUse>(use));
  }
  EXPECT_EQ(memory.total_bytes(), sum);
}

TEST(MemoryPlan, TheSecondLayoutMustFitTheFirst) {
  const auto machine = open_machine("host");
  MemoryPlan plan;
  const auto lay_out = [&plan](std::int64_t last) {
    plan.add(MemoryUse::workspace, "first", 1, 64);
    plan.add(MemoryUse::workspace, "second", 1, 65);
    return plan.add(MemoryUse::parameters, "last", 1, last);
  };
  lay_out(10);
  EXPECT_EQ(plan.bytes(MemoryUse::workspace), 768u);
  EXPECT_EQ(plan.bytes(MemoryUse::parameters), 256u);
  plan.allocate(machine->device(0));
  const Tensor tensor = lay_out(10);
  EXPECT_EQ(tensor.span.bytes, 40u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.span.data) % 256, 0u);
  EXPECT_THROW(lay_out(100), BadArgument);
}

}  // namespace
}  // namespace duet
