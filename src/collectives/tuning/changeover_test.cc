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

std::uint64_t all_gather_beside_nccl(const std::vector<Finished>& finished) {
  return beside_nccl(finished).copies.dma_from(CollectiveKind::all_gather);
}

TEST(BesideNccl, IsWhereNoCallIsSlowerFromThereOn) {
  std::vector<Finished> finished;
  for (const std::uint64_t size : {2, 4, 16, 64}) {
    const std::uint64_t bytes = size * kMi;
    for (const bool in_place : {false, true}) {
      finished.push_back(figure("nccl", "all_gather", bytes, in_place, 98.0));
      finished.push_back(
          figure("nccl-duet", "all_gather", bytes, in_place, size == 4 ? 110 : 99.9));
    }
  }
  EXPECT_EQ(all_gather_beside_nccl(finished), 16 * kMi);
  finished.push_back(figure("kernel", "all_gather", 16 * kMi, true, 1));
  EXPECT_EQ(all_gather_beside_nccl(finished), 16 * kMi);
  finished.push_back(
      figure("nccl-duet", "all_gather", 16 * kMi, true, 100.1));  // of one call alone
  EXPECT_EQ(all_gather_beside_nccl(finished), 64 * kMi);
  finished.push_back(figure("nccl-duet", "all_gather", 64 * kMi, true, 100.1));
  EXPECT_EQ(all_gather_beside_nccl(finished), Thresholds::kNever);
}

TEST(BesideNccl, IsNotBelowWhatWasMeasured) {
  EXPECT_EQ(all_gather_beside_nccl({figure("nccl", "all_gather", 2 * kMi, false, 2),
                                    figure("nccl-duet", "all_gather", 2 * kMi, false, 1)}),
            2 * kMi);
  EXPECT_TRUE(beside_nccl({figure("dma", "all_gather", kMi, false, 1),
                           figure("nccl", "all_gather", kMi, false, 2)})
                  .empty());
}

using Packets = std::map<CollectiveKind, std::uint64_t>;

TEST(BesideNccl, PacketsAreWhereNoCallIsSlowerUpToThere) {
  std::vector<Finished> finished;
  const auto add = [&](const std::string& kind, std::uint64_t bytes, double seconds) {
    finished.push_back(figure("nccl", kind, bytes, false, 98));
    finished.push_back(figure("nccl-duet", kind, bytes, false, seconds));
  };
  for (const std::uint64_t bytes : {kMi / 8, kMi / 4, kMi, 2 * kMi}) {
    add("all_gather", bytes, bytes == kMi ? 110 : 99.9);  // the last one by copies
    add("all_reduce", bytes, 100.1);
    add("all_to_all", bytes, 1);
  }
  add("broadcast", kMi / 8, 1);  // is none of packets
  const BesideNccl found = beside_nccl(finished);
  EXPECT_EQ(found.packets, (Packets{{CollectiveKind::all_gather, kMi / 4},
                                    {CollectiveKind::all_to_all, kMi},
                                    {CollectiveKind::all_reduce, 0}}));
  EXPECT_EQ(found.copies.all(), (Packets{{CollectiveKind::all_gather, 2 * kMi},
                                         {CollectiveKind::all_to_all, 2 * kMi},
                                         {CollectiveKind::all_reduce, Thresholds::kNever},
                                         {CollectiveKind::broadcast, kMi / 8}}));
}

}  // namespace
}  // namespace duet
