// What the stand-ins for AMD SMI and ROCm SMI both say of their first two devices.
#pragma once

#include <gtest/gtest.h>

namespace duet::hip {

template <typename Smi>
void expect_readings(const Smi& smi) {
  const auto first = smi.telemetry("ffff:00:00.0"), second = smi.telemetry("ffff:01:00.0");
  ASSERT_TRUE(first && second);
  EXPECT_DOUBLE_EQ(first->watts, 400);
  EXPECT_DOUBLE_EQ(second->watts, 410);
  EXPECT_DOUBLE_EQ(first->watts_limit, 750);
  EXPECT_DOUBLE_EQ(first->compute_mhz, 2100);
  EXPECT_DOUBLE_EQ(first->memory_mhz, 1300);
  EXPECT_DOUBLE_EQ(first->celsius, 45);
  EXPECT_GT(first->joules, 0);
  EXPECT_FALSE(smi.telemetry("0000:00:00.0"));
}

}  // namespace duet::hip
