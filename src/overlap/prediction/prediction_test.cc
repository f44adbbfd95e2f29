// Predictions of times that a simulated machine has measured itself, and of made-up times.
#include "overlap/prediction/prediction.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"

namespace duet {
namespace {

OverlapRow row(const std::string& policy, double seconds, std::int64_t ranks = 4) {
  OverlapRow one;
  one.id = {"overlap",
            "cuda",
            "nccl",
            {{"scenario", std::string("mine")},
             {"origin", std::string("custom")},
             {"compute", std::string("8192x8192x8192 bf16 nn")},
             {"collective", std::string("all_gather")},
             {"bytes", std::int64_t{939524096}},
             {"pieces", std::int64_t{1}},
             {"policy", policy},
             {"ranks", ranks}}};
  one.seconds = seconds;
  one.metrics["fraction_of_ideal"] = 0.5;
  return one;
}

TEST(Prediction, OfWhatTheMachineItselfTookIsRight) {
  const auto machine = open_machine("sim:h200-4");
  const PredictedCase first = predict(*machine, {row("priority", 1)}).cases.at(0);
  OverlapRow same = row("priority", first.predicted);
  same.metrics["fraction_of_ideal"] = first.predicted_fraction;
  const PredictionError error = predict(*machine, {same}).errors().back();
  EXPECT_EQ(error.policy, "all");
  EXPECT_EQ(error.cases, 1);
  EXPECT_NEAR(error.seconds, 0, 1e-9);
  EXPECT_NEAR(error.fraction, 0, 1e-9);
}

TEST(Prediction, ErrorsAreMeansOfAbsoluteOnes) {
  Prediction prediction;
  prediction.cases = {{"a", {OverlapPolicyKind::base, 0}, 1, 1.1, 0.2, 0.3},
                      {"a", {OverlapPolicyKind::dma, 0}, 2, 1.9, 1.0, 0.7},
                      {"b", {OverlapPolicyKind::base, 0}, 1, 0.7, std::nan(""), std::nan("")}};
  const auto errors = prediction.errors();
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors[0].policy, "base");
  EXPECT_NEAR(errors[0].seconds, 0.2, 1e-12);
  EXPECT_NEAR(errors[0].fraction, 0.1, 1e-12);
  EXPECT_NEAR(errors[1].fraction, 0.3, 1e-12);
  EXPECT_EQ(errors[2].cases, 3);
  EXPECT_NEAR(errors[2].seconds, (0.1 + 0.05 + 0.3) / 3, 1e-12);
  EXPECT_NEAR(errors[2].fraction, 0.2, 1e-12);
}

TEST(Prediction, LeavesOutTheBestOfASweepAndSaysWhatTheMachineLacks) {
  const auto machine = open_machine("sim:h200-4");
  const Prediction prediction =
      predict(*machine, {row("partition", 1), row("zero-cta", 1), row("base", 1)});
  ASSERT_EQ(prediction.cases.size(), 1u);
  EXPECT_EQ(name(prediction.cases[0].policy), "base");
  ASSERT_EQ(prediction.missing.size(), 1u);
  EXPECT_EQ(prediction.missing[0].find("zero-cta: "), 0u) << prediction.missing[0];
}

TEST(Prediction, RefusesWhatDoesNotFit) {
  EXPECT_THROW(predict(*open_machine("host:4"), {row("base", 1)}), UsageError);
  const auto machine = open_machine("sim:h200-4");
  EXPECT_THROW(predict(*machine, {row("base", 1, 8)}), UsageError);
  EXPECT_THROW(predict(*machine, {row("zero-cta", 1)}), UsageError);
  EXPECT_THROW(predict(*machine, {}), UsageError);
}

}  // namespace
}  // namespace duet
