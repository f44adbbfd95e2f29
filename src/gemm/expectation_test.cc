#include <gtest/gtest.h>

#include "gemm/workload.h"
#include "verdict/expectation_fixture.h"

namespace duet {
namespace {

using GemmExpectations = Expectations;

Record gemm(double m, double n, double k, const char* dtype = "bf16") {
  return result("gemm", {{"m", m}, {"n", n}, {"k", k}, {"dtype", dtype}},
                {2 * m * n * k, 2 * (m * k + k * n + m * n), 0});
}

TEST_F(GemmExpectations, ALargeGemmIsHeldAgainstItsShareOfThePeak) {
  const Expectation expectation = expect_gemm(gemm(8192, 8192, 8192), site());
  EXPECT_DOUBLE_EQ(*expectation.bound, 1000);
  // 1,024 tiles of 256 x 256 in 11 waves on 100 units.
  EXPECT_DOUBLE_EQ(*expectation.expected, 700 * 1024.0 / 1100);
}

TEST_F(GemmExpectations, TheTileThatFillsTheWavesBestIsTaken) {
  // 5,120 x 1,280: 100 tiles of 256 x 256 fill one wave; 5,120 x 1,536: 120 tiles, or 240 or 480.
  EXPECT_DOUBLE_EQ(*expect_gemm(gemm(5120, 1280, 8192), site()).expected, 700);
  EXPECT_NEAR(*expect_gemm(gemm(5120, 1536, 8192), site()).expected, 700 * 0.85 * 480 / 500, 1e-9);
}

TEST_F(GemmExpectations, AThinGemmIsBoundByMemory) {
  // 34.4 GFLOP over 541 MB: 63.5 FLOP a byte, where the device has 250.
  const Expectation expectation = expect_gemm(gemm(16384, 16384, 64), site());
  EXPECT_NEAR(*expectation.bound, 254, 1);
  EXPECT_NEAR(*expectation.expected, 0.8 * 254, 1);
}

TEST_F(GemmExpectations, SmallGemmsHaveABoundAlone) {
  const Expectation expectation = expect_gemm(gemm(512, 512, 512), site());
  EXPECT_TRUE(expectation.bound.has_value());
  EXPECT_FALSE(expectation.expected.has_value());
  EXPECT_NE(expectation.unknown.find("small"), std::string::npos);
}

TEST_F(GemmExpectations, GroupsHaveABoundAlone) {
  Record groups = gemm(8192, 8192, 8192);
  groups.id.benchmark = "gemm_grouped";
  const Expectation expectation = expect_gemm(groups, site());
  EXPECT_DOUBLE_EQ(*expectation.bound, 1000);
  EXPECT_FALSE(expectation.expected.has_value());
  EXPECT_NE(expectation.unknown.find("groups"), std::string::npos);
}

TEST_F(GemmExpectations, AnElementTypeWithoutPromiseOrExperienceIsNotGuessed) {
  EXPECT_FALSE(expect_gemm(gemm(8192, 8192, 8192, "int8"), site()).bound.has_value());
  const Expectation fp16 = expect_gemm(gemm(8192, 8192, 8192, "fp16"), site());
  EXPECT_DOUBLE_EQ(*fp16.bound, 1000);
  EXPECT_FALSE(fp16.expected.has_value());
  EXPECT_FALSE(expect_gemm(gemm(8192, 8192, 8192, "nonsense"), site()).bound.has_value());
}

TEST_F(GemmExpectations, AWarmGemmThatFitsInTheCacheIsNotBoundByMemory) {
  Record warm = gemm(512, 8192, 2048);  // 44 MB of operands, 50 MiB of cache
  EXPECT_DOUBLE_EQ(*expect_gemm(warm, site()).bound, 1000);
  warm = gemm(64, 8192, 2048);
  EXPECT_DOUBLE_EQ(*expect_gemm(warm, site()).bound, 1000);
  warm.flushed = true;
  EXPECT_LT(*expect_gemm(warm, site()).bound, 300);
}

TEST_F(GemmExpectations, ACpuIsHeldAgainstItsMeasuredPeak) {
  const Site cpu = cpu_site({{gemm_peak_name("fp32"), measured_peak(0.48, 0.5)}});
  EXPECT_DOUBLE_EQ(*expect_gemm(gemm(2048, 2048, 2048, "fp32"), cpu).expected, 0.36);
  EXPECT_TRUE(expect_gemm(gemm(2048, 2048, 2048, "fp32"), cpu).measured_bound);
  EXPECT_FALSE(expect_gemm(gemm(256, 2048, 2048, "fp32"), cpu).expected.has_value());
  EXPECT_FALSE(expect_gemm(gemm(2048, 2048, 2048), cpu).bound.has_value());
}

}  // namespace
}  // namespace duet
