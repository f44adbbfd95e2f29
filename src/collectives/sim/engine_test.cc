// Small sizes: Duet's copy engines are up to four times slower than the vendor's library on a
// simulated MI300X. Large sizes: both are equally fast.

#include <gtest/gtest.h>

#include "collectives/collective_work.h"
#include "collectives/own_engines.h"
#include "core/error.h"
#include "timing/sampler.h"
#include "timing/short_mode_fixture.h"

namespace duet {
namespace {

constexpr std::uint64_t kMi = 1 << 20;

class VendorModelTest : public ::testing::TestWithParam<CollectiveKind> {
 protected:
  double seconds(CollectiveEngine& engine, std::uint64_t bytes) {
    Collective collective;
    collective.kind = GetParam();
    collective.dtype = DType::bf16;
    collective.count = count_for(collective.kind, collective.dtype, bytes, team_.size());
    const auto session = engine.open(team_);
    CollectiveWork work(team_, *session, collective, false, false);
    return Sampler(team_).measure(work, short_mode(3)).samples.back();
  }

  double ratio(std::uint64_t bytes) { return seconds(*dma_, bytes) / seconds(*vendor_, bytes); }

  std::unique_ptr<Machine> machine_ = open_machine("sim:mi300x-8");
  Team team_{*machine_};
  std::unique_ptr<CollectiveEngine> dma_ = make_dma_collectives();
  std::unique_ptr<CollectiveEngine> vendor_ = make_vendor_model_collectives();
};

TEST_P(VendorModelTest, IsAheadWhereSizesAreSmall) {
  for (const std::uint64_t bytes : {kMi / 4, kMi, 4 * kMi, 8 * kMi}) {
    EXPECT_GT(ratio(bytes), 1.5) << bytes;
    EXPECT_LT(ratio(bytes), 4.5) << bytes;
  }
  EXPECT_GT(ratio(16 * kMi), 1.1);
}

TEST_P(VendorModelTest, IsAtParWhereTheyAreLarge) {
  for (const std::uint64_t bytes : {64 * kMi, 256 * kMi, 1024 * kMi}) {
    EXPECT_GT(ratio(bytes), 0.9) << bytes;
    EXPECT_LT(ratio(bytes), 1.1) << bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, VendorModelTest,
                         ::testing::Values(CollectiveKind::all_gather, CollectiveKind::all_to_all),
                         [](const auto& kind) { return std::string(name(kind.param)); });

TEST(VendorModel, IsThereOnSimulatedMachinesOnly) {
  const auto has = [](const std::string& kind) {
    for (CollectiveEngine* engine : collective_engines(kind).engines) {
      if (engine->name() == "vendor-model") return true;
    }
    return false;
  };
  EXPECT_TRUE(has("sim"));
  EXPECT_FALSE(has("host"));
  const auto host = open_machine("host:2");
  Team team(*host);
  const auto session = make_vendor_model_collectives()->open(team);
  EXPECT_THROW(team.each([&](Rank& rank) {
    Collective collective;
    collective.count = 1;
    const Buffer send = rank.device.allocate(4), recv = rank.device.allocate(8);
    session->plan(rank, collective, {send.span(), recv.span()});
  }),
               BadArgument);
}

}  // namespace
}  // namespace duet
