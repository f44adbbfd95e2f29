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
  expect_memory_errors(rocm_smi());
  EXPECT_FALSE(rocm_smi().health("ffff:00:00.0")->tells_limits);
}

TEST(RocmSmi, KnowsTheLinks) { expect_links(rocm_smi()); }

}  // namespace
}  // namespace duet::hip
