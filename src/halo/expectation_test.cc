#include <gtest/gtest.h>

#include "copy/workload.h"
#include "halo/workload.h"
#include "verdict/expectation_fixture.h"

namespace duet {
namespace {

using HaloExpectations = Expectations;

Record halo(double points, int ranks, const char* norm = "none") {
  Record record = result("halo", {{"ranks", ranks}, {"norm", norm}}, {4 * points, 8 * points, 0});
  record.cost.more.set(kPoints, points);
  return record;
}

TEST_F(HaloExpectations, ASweepOfOneRankIsHeldAgainstItsMemory) {
  spec_.memory_gb_per_s = 4000;
  spec_.cache_bytes = 60 * kMiB;
  const double large = 16384.0 * 16384;
  const Expectation one = expect_halo(halo(large, 1), site());
  EXPECT_DOUBLE_EQ(*one.bound, 4000);
  EXPECT_DOUBLE_EQ(*one.expected, 3400);
  EXPECT_EQ(one.basis, "85% of the 4000 GB/s of its memory");
  const Expectation four = expect_halo(halo(large, 4), site());
  EXPECT_DOUBLE_EQ(*four.bound, 4 * 4000);
  EXPECT_FALSE(four.expected.has_value());
  EXPECT_FALSE(expect_halo(halo(large, 1, "host"), site()).expected.has_value());
  EXPECT_TRUE(expect_halo(halo(large, 1, "delayed"), site()).expected.has_value());
}

// All cores sweep, so the copy by one of them is no peak.
TEST_F(HaloExpectations, ASweepOfACpuIsHeldAgainstTheCopyOfAllCores) {
  Site cpu = cpu_site({{copy_peak_name("dma"), measured_peak(20, 30, kMiB)}});
  EXPECT_EQ(expect_halo(halo(4096.0 * 4096, 1), cpu).unknown,
            "the run has no copy peak of this CPU");
  cpu.peaks[copy_peak_name("kernel")] = measured_peak(40, 60, kMiB);
  const Expectation sweep = expect_halo(halo(4096.0 * 4096, 1), cpu);
  EXPECT_DOUBLE_EQ(*sweep.expected, 0.8 * 40);
  EXPECT_DOUBLE_EQ(*sweep.bound, 60);
  EXPECT_FALSE(expect_halo(halo(4096.0 * 4096, 2), cpu).expected.has_value());
}

// A field in the cache is not limited by memory: faster than memory is not suspect.
TEST_F(HaloExpectations, FieldsInTheCacheHaveNoBound) {
  spec_.memory_gb_per_s = 4000;
  spec_.cache_bytes = 60 * kMiB;
  const Expectation small = expect_halo(halo(2048.0 * 2048, 1), site());
  EXPECT_FALSE(small.bound.has_value());
  EXPECT_EQ(small.unknown, "the fields of a rank fit in the cache");
  EXPECT_FALSE(expect_halo(halo(16384.0 * 16384, 64), site()).bound.has_value());
  EXPECT_TRUE(expect_halo(halo(4096.0 * 4096, 1), site()).bound.has_value());
}

}  // namespace
}  // namespace duet
