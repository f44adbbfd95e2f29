#include "collectives/tuning/changeover.h"

#include <gtest/gtest.h>

namespace duet {
namespace {

constexpr std::uint64_t kMi = 1 << 20;

TEST(Changeover, LiesWhereTheRatioOfTimesPasses1) {
  EXPECT_EQ(changeover({{4 * kMi, 26, 35}, {16 * kMi, 69, 59}}), 10 * kMi);
  EXPECT_EQ(changeover({{4 * kMi, 1, 2}, {16 * kMi, 2, 1}}), 8 * kMi);
  EXPECT_EQ(changeover({{4 * kMi, 1, 2}, {16 * kMi, 1, 1}}), 16 * kMi);
}

TEST(Changeover, IsTheLastOfSeveral) {
  EXPECT_EQ(changeover({{kMi, 2, 1}, {4 * kMi, 1, 2}, {16 * kMi, 2, 1}, {64 * kMi, 2, 1}}),
            8 * kMi);
}

TEST(Changeover, MayBeAtNoSize) {
  EXPECT_EQ(changeover({{kMi, 1, 1}, {4 * kMi, 2, 1}}), 0u);
  EXPECT_EQ(changeover({{kMi, 2, 1}, {4 * kMi, 1, 2}}), Thresholds::kNever);
}

Finished figure(const std::string& engine, const std::string& kind, std::uint64_t bytes,
                bool in_place, double seconds) {
  return {{"collective",
           "host:2",
           engine,
           {{"collective", kind},
            {"bytes", static_cast<std::int64_t>(bytes)},
            {"in_place", in_place},
            {"ranks", std::int64_t{2}}}},
          seconds,
          {}};
}

TEST(Changeovers, AddUpPlacesAndLeaveOutWhatOneEngineHasNot) {
  const Thresholds found = changeovers({figure("kernel", "all_gather", 4 * kMi, false, 1),
                                        figure("dma", "all_gather", 4 * kMi, false, 3),
                                        figure("kernel", "all_gather", 4 * kMi, true, 1),
                                        figure("dma", "all_gather", 4 * kMi, true, 1),
                                        figure("kernel", "all_gather", 16 * kMi, false, 4),
                                        figure("dma", "all_gather", 16 * kMi, false, 2),
                                        figure("kernel", "all_gather", 64 * kMi, false, 1),
                                        figure("dma", "all_gather", 64 * kMi, false, 0),
                                        figure("kernel", "all_reduce", 4 * kMi, false, 1),
                                        figure("nccl", "all_reduce", 4 * kMi, false, 1)});
  const std::map<CollectiveKind, std::uint64_t> expected{{CollectiveKind::all_gather, 8 * kMi}};
  EXPECT_EQ(found.all(), expected);
}

}  // namespace
}  // namespace duet
