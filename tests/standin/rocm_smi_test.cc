#include "device/hip/rocm_smi.h"

#include <gtest/gtest.h>

namespace duet::hip {
namespace {

const RocmSmi& smi() { return *RocmSmi::instance(); }

TEST(RocmSmi, ReadsTheDeviceAtAnAddress) {
  const auto first = smi().telemetry("ffff:00:00.0"), second = smi().telemetry("ffff:01:00.0");
  ASSERT_TRUE(first && second);
  EXPECT_DOUBLE_EQ(first->watts, 400);
  EXPECT_DOUBLE_EQ(second->watts, 410);
  EXPECT_DOUBLE_EQ(first->watts_limit, 750);
  EXPECT_DOUBLE_EQ(first->compute_mhz, 2100);
  EXPECT_DOUBLE_EQ(first->memory_mhz, 1300);
  EXPECT_DOUBLE_EQ(first->celsius, 45);
  EXPECT_GT(first->joules, 0);
  EXPECT_EQ(smi().driver_version(), "6.8.5");
  EXPECT_FALSE(smi().telemetry("0000:00:00.0"));
}

TEST(RocmSmi, CountsEnergy) {
  const auto before = smi().joules("ffff:00:00.0");
  const auto after = smi().joules("ffff:00:00.0");
  ASSERT_TRUE(before && after);
  EXPECT_GE(*after, *before);
  EXPECT_FALSE(smi().joules("ffff:03:00.0")) << "has no counter";
  EXPECT_EQ(smi().telemetry("ffff:03:00.0")->joules, 0);
}

TEST(RocmSmi, TellsOfMemoryErrors) {
  const auto good = smi().health("ffff:00:00.0"), bad = smi().health("ffff:02:00.0"),
             plain = smi().health("ffff:03:00.0");
  ASSERT_TRUE(good && bad && plain);
  EXPECT_EQ(good->ecc, true);
  EXPECT_EQ(good->uncorrected_errors, 0);
  EXPECT_EQ(good->remap_pending, false);
  EXPECT_EQ(bad->uncorrected_errors, 2);
  EXPECT_EQ(bad->remap_pending, true);
  EXPECT_EQ(bad->remap_failed, false);
  EXPECT_FALSE(plain->ecc);
  EXPECT_FALSE(plain->remap_pending);
}

TEST(RocmSmi, KnowsTheLinks) {
  const auto links = smi().links("ffff:00:00.0", "ffff:01:00.0");
  ASSERT_TRUE(links);
  EXPECT_EQ(links->count, 1);
  EXPECT_DOUBLE_EQ(links->gb_per_s, 64);
  EXPECT_FALSE(smi().links("ffff:00:00.0", "ffff:00:00.0"));
}

}  // namespace
}  // namespace duet::hip
