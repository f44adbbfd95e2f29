// What the stand-ins for AMD SMI and ROCm SMI both say of their devices.
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

template <typename Smi>
void expect_memory_errors(const Smi& smi) {
  const auto good = smi.health("ffff:00:00.0"), bad = smi.health("ffff:02:00.0"),
             silent = smi.health("ffff:03:00.0");
  ASSERT_TRUE(good && bad && silent);
  EXPECT_EQ(good->ecc, true);
  EXPECT_EQ(good->uncorrected_errors, 0);
  EXPECT_EQ(good->corrected_errors, 3);
  EXPECT_EQ(good->remap_pending, false);
  EXPECT_EQ(bad->uncorrected_errors, 2);
  EXPECT_EQ(bad->remap_pending, true);
  EXPECT_EQ(bad->remap_failed, false);
  EXPECT_FALSE(silent->ecc || silent->remap_pending);
}

template <typename Smi>
void expect_links(const Smi& smi) {
  const auto links = smi.links("ffff:00:00.0", "ffff:01:00.0");
  ASSERT_TRUE(links);
  EXPECT_EQ(links->count, 1);
  EXPECT_DOUBLE_EQ(links->gb_per_s, 64);
  EXPECT_FALSE(smi.links("ffff:00:00.0", "ffff:00:00.0"));
}

}  // namespace duet::hip
