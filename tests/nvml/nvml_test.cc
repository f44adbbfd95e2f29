#include "device/cuda/nvml.h"

#include <gtest/gtest.h>

namespace duet::cuda {
namespace {

std::optional<DeviceHealth> health(const char* bus) {
  const Nvml* nvml = Nvml::instance();
  return nvml != nullptr ? nvml->health(bus) : std::nullopt;
}

TEST(NvmlTest, TellsOfAGpuInOrder) {
  const auto good = health("0000:01:00.0");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->ecc, true);
  EXPECT_EQ(good->uncorrected_errors, 0);
  EXPECT_EQ(good->remap_pending, false);
  EXPECT_EQ(good->remap_failed, false);
  EXPECT_EQ(good->links_up, 18);
  EXPECT_EQ(good->links_down, 0);
}

TEST(NvmlTest, CountsErrorsAndLinksThatAreDown) {
  const auto bad = health("0000:02:00.0");
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->uncorrected_errors, 2);
  EXPECT_EQ(bad->remap_pending, true);
  EXPECT_EQ(bad->links_up, 11);
  EXPECT_EQ(bad->links_down, 1);
}

TEST(NvmlTest, CountsWhatWasMended) {
  const auto good = health("0000:01:00.0"), bad = health("0000:02:00.0");
  ASSERT_TRUE(good && bad);
  EXPECT_EQ(good->corrected_errors, 5);
  EXPECT_EQ(good->pcie_replays, 7);
  EXPECT_EQ(good->link_replays, 0);
  EXPECT_EQ(good->link_recoveries, 18);
  EXPECT_EQ(good->link_errors, 18 * (2 + 3));
  EXPECT_FALSE(bad->link_errors);
}

TEST(NvmlTest, TellsEachXidOnce) {
  const Nvml* nvml = Nvml::instance();
  ASSERT_NE(nvml, nullptr);
  EXPECT_EQ(nvml->new_xids("0000:02:00.0"), (std::vector<std::uint64_t>{63, 79}));
  EXPECT_TRUE(nvml->new_xids("0000:02:00.0").empty());
  EXPECT_TRUE(nvml->new_xids("0000:01:00.0").empty());
  EXPECT_TRUE(nvml->new_xids("0000:03:00.0").empty());
  EXPECT_TRUE(nvml->new_xids("0000:09:00.0").empty());
}

TEST(NvmlTest, WhatAGpuDoesNotHaveIsNotKnown) {
  const auto plain = health("0000:03:00.0");
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->ecc);
  EXPECT_FALSE(plain->uncorrected_errors);
  EXPECT_FALSE(plain->remap_pending);
  EXPECT_FALSE(plain->corrected_errors);
  EXPECT_FALSE(plain->pcie_replays);
  EXPECT_FALSE(plain->links_up);
  EXPECT_FALSE(health("0000:09:00.0"));
}

}  // namespace
}  // namespace duet::cuda
