#include "training/models/gpt.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "training/operations/on_host_fixture.h"

namespace duet {
namespace {

class GptTest : public OnHost {
 protected:
  GptTest() {
    model_.allocate();
    model_.initialise(1);
    write_tokens(model_.tokens(), 5, 37);
    write_tokens(model_.targets(), 6, 37);
  }

  // Layers, heads, width, FFN width, vocabulary, batch, sequence.
  Gpt model_{{"tiny", 2, 3, 24, 40, 37, 2, 11}, find_recipe("fp32"), {}, device_, *operations_};
};

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
    synchronize();
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
    gradients(model_);
    model_.update(*stream_);
    synchronize();
  }
  EXPECT_LT(loss(model_), 0.05);
}

TEST_F(GptTest, ClipsByTheNorm) {
  gradients(model_);
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
    synchronize();
    EXPECT_NEAR(static_cast<double>(*data(model_.gradient_norm())), scale * norm, 1e-5 * norm);
    return state.gradient_factor;
  };
  EXPECT_NEAR(clipped(1, norm / 2), 0.5, 1e-5);
  EXPECT_EQ(clipped(1, 2 * norm), 1);
  EXPECT_EQ(clipped(0.25, norm / 2), 0.25);
  EXPECT_NEAR(clipped(0.25, norm / 8), 0.125, 1e-5);
}

TEST_F(GptTest, TheSameSeedGivesTheSameBits) {
  const double first = loss(model_);
  model_.initialise(1);
  EXPECT_EQ(loss(model_), first);
  model_.initialise(2);
  EXPECT_NE(loss(model_), first);
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
