#include "device/hip/rocm_smi.h"

#include <gtest/gtest.h>

#include "fake_gpu/smi/smi_readings.h"

namespace duet::hip {
namespace {

const RocmSmi& rocm_smi() {
  static const RocmSmi opened;
  return opened;
}

TEST(RocmSmi, ReadsTheDeviceAtAnAddress) {
  expect_readings(rocm_smi());
  EXPECT_EQ(rocm_smi().driver_version(), "6.8.5");
}

TEST(RocmSmi, CountsEnergy) {
  const auto before = rocm_smi().joules("ffff:00:00.0");
  const auto after = rocm_smi().joules("ffff:00:00.0");
  ASSERT_TRUE(before && after);
  EXPECT_GE(*after, *before);
  EXPECT_FALSE(rocm_smi().joules("ffff:03:00.0")) << "has no counter";
  EXPECT_EQ(rocm_smi().telemetry("ffff:03:00.0")->joules, 0);
}

TEST(RocmSmi, TellsOfMemoryErrors) {
  const auto good = rocm_smi().health("ffff:00:00.0"), bad = rocm_smi().health("ffff:02:00.0"),
             plain = rocm_smi().health("ffff:03:00.0");
  ASSERT_TRUE(good && bad && plain);
  EXPECT_EQ(good->ecc, true);
  EXPECT_EQ(good->uncorrected_errors, 0);
  EXPECT_EQ(good->remap_pending, false);
  EXPECT_EQ(bad->uncorrected_errors, 2);
  EXPECT_EQ(bad->remap_pending, true);
  EXPECT_EQ(bad->remap_failed, false);
  EXPECT_FALSE(good->tells_limits);
  EXPECT_FALSE(plain->ecc);
  EXPECT_FALSE(plain->remap_pending);
}

TEST(RocmSmi, KnowsTheLinks) {
  const auto links = rocm_smi().links("ffff:00:00.0", "ffff:01:00.0");
  ASSERT_TRUE(links);
  EXPECT_EQ(links->count, 1);
  EXPECT_DOUBLE_EQ(links->gb_per_s, 64);
  EXPECT_FALSE(rocm_smi().links("ffff:00:00.0", "ffff:00:00.0"));
}

}  // namespace
}  // namespace duet::hip
