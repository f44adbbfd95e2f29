#include "training/models/mlp.h"

#include <gtest/gtest.h>

#include "training/models/derivative_fixture.h"
#include "training/operations/on_host_fixture.h"

namespace duet {
namespace {

class MlpTest : public OnHost {
 protected:
  MlpTest() {
    model_.allocate();
    model_.initialise(1);
    write_normal(model_.input(), 5);
    write_normal(model_.targets(), 6);
  }

  Optimizer sgd_{OptimizerKind::sgd, {}};
  Mlp model_{{{6, 10, 9, 5}, 7}, find_recipe("fp32"), sgd_, device_, *operations_};
};

TEST_F(MlpTest, BackwardIsTheDerivativeOfTheLoss) {
  gradients(model_);
  expect_differences_of_loss(
      model_.parameters(), [this] { return loss(model_); }, 0.02, 2e-4);
}

TEST_F(MlpTest, DescendsAlongItsGradient) {
  const StepState state{1, 0, 0.5, 1};
  device_.write(model_.state(), &state);
  const double first = loss(model_);
  for (int step = 0; step < 300; ++step) {
    model_.forward(*stream_);
    model_.backward(*stream_, Accumulate::no);
    model_.update(*stream_);
  }
  EXPECT_LT(loss(model_), 0.1 * first);
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
