#include "device/hip/amd_smi.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "fake_gpu/smi/smi_readings.h"
#include "fake_gpu/variable.h"

namespace duet::hip {
namespace {

constexpr const char* kWell = "ffff:00:00.0";
constexpr const char* kCapped = "ffff:01:00.0";
constexpr const char* kFaulty = "ffff:02:00.0";
constexpr const char* kSilent = "ffff:03:00.0";  // has no counters

class AmdSmiVersions : public testing::TestWithParam<const char*> {
 protected:
  AmdSmiVersions() : version_("DUET_STANDIN", std::string("amd-smi=") + GetParam()) {}
  bool oldest() const { return std::string(GetParam()) == "24"; }

 private:
  Variable version_;
};

TEST_P(AmdSmiVersions, ReadsTheDeviceAtAnAddress) {
  const AmdSmi smi;
  expect_readings(smi);
  EXPECT_EQ(smi.driver_version(), "6.12.12");
}

TEST_P(AmdSmiVersions, TellsWhyClocksAreLimited) {
  const AmdSmi smi;
  for (int reading = 0; reading < 2; ++reading) {
    const auto well = smi.telemetry(kWell), capped = smi.telemetry(kCapped),
               faulty = smi.telemetry(kFaulty);
    EXPECT_EQ(well->throttle, "");
    EXPECT_EQ(capped->throttle, oldest() ? "" : "power cap");
    EXPECT_EQ(faulty->throttle, oldest() ? "" : "thermal, of the memory");
  }
}

TEST_P(AmdSmiVersions, SaysWhetherItTellsLimits) {
  EXPECT_EQ(AmdSmi().health(kWell)->tells_limits, !oldest());
}

TEST_P(AmdSmiVersions, TellsOfLinksThatAreDown) {
  const AmdSmi smi;
  const auto good = smi.health(kWell), bad = smi.health(kFaulty);
  ASSERT_TRUE(good && bad);
  if (oldest()) {
    EXPECT_FALSE(good->links_up || bad->links_down) << "the version has no status of links";
    return;
  }
  EXPECT_EQ(bad->links_down, 1);
  if (std::string(GetParam()) == "25") {
    EXPECT_FALSE(good->links_up) << "the list is cut off";
    EXPECT_EQ(bad->links_up, 3);
    return;
  }
  EXPECT_EQ(good->links_up, 7);
  EXPECT_EQ(good->links_down, 0);
  EXPECT_EQ(bad->links_up, 6);
}

INSTANTIATE_TEST_SUITE_P(All, AmdSmiVersions, testing::Values("24", "25", "26", "27"));

TEST(AmdSmi, TellsOfMemoryErrors) { expect_memory_errors(AmdSmi()); }

TEST(AmdSmi, LeavesOutWhatADeviceDoesNotSupport) {
  const AmdSmi smi;
  const auto reading = smi.telemetry(kSilent);
  const auto health = smi.health(kSilent);
  ASSERT_TRUE(reading && health);
  EXPECT_EQ(reading->watts, 0);
  EXPECT_EQ(reading->compute_mhz, 0) << "all ones";
  EXPECT_EQ(reading->joules, 0);
  EXPECT_EQ(reading->throttle, "");
  EXPECT_FALSE(health->tells_limits);
  EXPECT_DOUBLE_EQ(reading->celsius, 45);
  EXPECT_FALSE(smi.joules(kSilent));
  EXPECT_FALSE(health->links_up);
}

TEST(AmdSmi, KnowsTheRateOfLinks) { expect_links(AmdSmi()); }

// The version of the driver tells which library answers.
TEST(Smi, IsAmdSmiWhereItCanBeUsed) { EXPECT_EQ(open_smi()->driver_version(), "6.12.12"); }

TEST(Smi, IsRocmSmiWithoutAmdSmi) {
  for (const char* why : {"no-amd-smi", "amd-smi=23", "amd-smi=28"}) {
    const Variable machine("DUET_STANDIN", why);
    EXPECT_THROW(AmdSmi(), Unavailable) << why;
    EXPECT_EQ(open_smi()->driver_version(), "6.8.5") << why;
  }
}

TEST(Smi, IsNoneWithoutEither) {
  const Variable machine("DUET_STANDIN", "no-smi");
  EXPECT_EQ(open_smi(), nullptr);
}

}  // namespace
}  // namespace duet::hip
