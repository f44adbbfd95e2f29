#include <gtest/gtest.h>

#include "layers/cases.h"
#include "layers/workload.h"
#include "verdict/expectation_fixture.h"

namespace duet {
namespace {

using LayerExpectations = Expectations;

TEST_F(LayerExpectations, PiecesAreAtLeastAsFastAsTheWholeCollective) {
  Record record = result("layer", {{"m", 4096}, {"ranks", 4}}, {8e12, 0, 0});
  record.metrics = {{"gemm_seconds", 0.5}, {"serial_seconds", 0.8}};
  for (const char* engine : {kPieces, kFastest}) {
    record.id.engine = engine;
    const Expectation expectation = expect_layer(record, site());
    EXPECT_DOUBLE_EQ(*expectation.bound, 16);
    EXPECT_TRUE(expectation.measured_bound);
    EXPECT_DOUBLE_EQ(*expectation.expected, 10);
  }
  record.id.axes.set("m", 2048);
  EXPECT_DOUBLE_EQ(*expect_layer(record, site()).expected, 10);
  record.id.engine = kPieces;
  EXPECT_FALSE(expect_layer(record, site()).expected);
}

TEST_F(LayerExpectations, WithoutAMultiplicationRatesAreOfBytes) {
  Record record = result("layer", {{"m", 64}, {"ranks", 2}}, {0, 2e6, 3e6});
  record.metrics = {{"gemm_seconds", 5e-6}, {"serial_seconds", 20e-6}};
  record.id.engine = kFastest;
  const Expectation expectation = expect_layer(record, site());
  const double of_call = usual_rates(record.cost, 1).front().second;
  EXPECT_DOUBLE_EQ(*expectation.bound, of_call / 5e-6);
  EXPECT_DOUBLE_EQ(*expectation.expected, of_call / 20e-6);
}

TEST_F(LayerExpectations, NothingIsExpectedOfWhatIsMeasuredElsewhere) {
  Record record = result("layer", {{"m", 4096}, {"ranks", 4}}, {8e12, 0, 0});
  record.id.engine = kAlone;
  EXPECT_FALSE(expect_layer(record, site()).bound);
  record.metrics = {{"gemm_seconds", 0.5}};
  record.id.engine = "nccl";
  EXPECT_DOUBLE_EQ(*expect_layer(record, site()).bound, 16);
  EXPECT_FALSE(expect_layer(record, site()).expected);
  record.id.engine = kPieces;
  EXPECT_FALSE(expect_layer(record, site()).expected);
  record.metrics.set("serial_seconds", 0.8);
  EXPECT_FALSE(expect_layer(record, cpu_site({})).expected);
}

}  // namespace
}  // namespace duet
