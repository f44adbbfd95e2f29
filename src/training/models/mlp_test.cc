#include "training/models/mlp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"
#include "device/machine.h"

namespace duet {
namespace {

constexpr double kMlpDeadline = 60;

class MlpTest : public ::testing::Test {
 protected:
  MlpTest() {
    model_.allocate();
    model_.initialise(1);
    write_normal(model_.input(), 5);
    write_normal(model_.targets(), 6);
  }

  void write_normal(const Tensor& tensor, std::uint64_t seed) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      values.push_back(random_normal(seed, static_cast<std::uint64_t>(i)));
    }
    device_.write(tensor.span, values.data());
  }

  double loss() {
    model_.forward(*stream_);
    model_.evaluate(*stream_);
    stream_->synchronize(kMlpDeadline);
    return static_cast<double>(*reinterpret_cast<float*>(model_.loss().span.data));
  }

  std::unique_ptr<Machine> machine_ = open_machine("host");
  Device& device_ = machine_->device(0);
  std::unique_ptr<Operations> operations_ = make_operations(device_);
  std::unique_ptr<Stream> stream_ = device_.make_stream();
  Optimizer sgd_{OptimizerKind::sgd, {}};
  Mlp model_{{{6, 10, 9, 5}, 7}, find_recipe("fp32"), sgd_, device_, *operations_};
};

TEST_F(MlpTest, BackwardIsTheDerivativeOfTheLoss) {
  model_.forward(*stream_);
  model_.backward(*stream_, Accumulate::no);
  stream_->synchronize(kMlpDeadline);
  for (const TrainedParameter& each : model_.parameters().all()) {
    auto* const weights = reinterpret_cast<float*>(each.tensors.parameters.span.data);
    const auto* const gradients = reinterpret_cast<float*>(each.tensors.gradients.span.data);
    for (std::int64_t i = 0; i < each.about.count(); i += 7) {
      const float value = weights[i];
      constexpr float kMove = 1e-2f;  // ReLU: rather small
      weights[i] = value + kMove;
      const double above = loss();
      weights[i] = value - kMove;
      const double below = loss();
      weights[i] = value;
      EXPECT_NEAR((above - below) / (2 * static_cast<double>(kMove)),
                  static_cast<double>(gradients[i]), 2e-4)
          << each.about.name << " " << i;
    }
  }
}

TEST_F(MlpTest, DescendsAlongItsGradient) {
  const StepState state{1, 0, 0.5, 1};
  device_.write(model_.state(), &state);
  const double first = loss();
  for (int step = 0; step < 300; ++step) {
    model_.forward(*stream_);
    model_.backward(*stream_, Accumulate::no);
    model_.update(*stream_);
  }
  EXPECT_LT(loss(), 0.1 * first);
}

TEST(Mlp, CountsAsTheStudyDoes) {
  const ModelDescription model = describe(study_mlp());
  EXPECT_EQ(model.axes.number("parameters"), 134217728);
  EXPECT_EQ(model.cost.more.value(kSamples), 256);
  EXPECT_NEAR(model.cost.flop, 189e9, 0.1e9);  // the first layer's input needs no gradient
  EXPECT_NEAR(model.six_n, 206.2e9, 0.1e9);
}

}  // namespace
}  // namespace duet
