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

class PacketsBesideNccl : public ::testing::Test {
 protected:
  // NCCL takes 98 s.
  void add(const std::string& kind, std::uint64_t bytes, double out_of_place, double in_place) {
    for (const bool place : {false, true}) {
      finished_.push_back(figure("nccl", kind, bytes, place, 98));
      finished_.push_back(figure("nccl-duet", kind, bytes, place, place ? in_place : out_of_place));
    }
  }
  std::vector<Finished> finished_;
};

TEST_F(PacketsBesideNccl, AreFastUpToTheFirstSizeWithASlowCall) {
  for (const std::uint64_t bytes : {kMi / 128, kMi / 4, kMi / 2, kMi}) {
    add("all_gather", bytes, 99.9, bytes == kMi / 2 ? 110 : 99.9);
    add("all_to_all", bytes, 1, 1);
    add("all_reduce", bytes, bytes == kMi / 128 ? 100.1 : 1, 1);
  }
  EXPECT_EQ(beside_nccl(finished_).packets, (Packets{{CollectiveKind::all_gather, kMi / 4},
                                                     {CollectiveKind::all_to_all, kMi},
                                                     {CollectiveKind::all_reduce, 0}}));
  EXPECT_TRUE(beside_nccl(finished_).copies.all().empty());
}

TEST_F(PacketsBesideNccl, AreNotWhatTheDropInCopies) {
  add("all_gather", kMi / 128, 1, 1);
  add("all_gather", 2 * kMi, 1, 1);
  add("broadcast", kMi / 128, 1, 1);
  const BesideNccl found = beside_nccl(finished_);
  EXPECT_EQ(found.packets, (Packets{{CollectiveKind::all_gather, kMi / 128}}));
  EXPECT_EQ(found.copies.all(), (Packets{{CollectiveKind::all_gather, 2 * kMi},
                                         {CollectiveKind::broadcast, kMi / 128}}));
}

TEST_F(PacketsBesideNccl, NeedSmallCalls) {
  add("all_gather", kMi / 64, 1, 1);
  add("all_gather", kMi, 1, 1);
  EXPECT_TRUE(beside_nccl(finished_).empty());
}

TEST(BesideNccl, ComparesPacketsWhereTheDropInMayMakeThem) {
  EXPECT_TRUE(compares_packets(figure("nccl", "all_gather", 1 * kMi, true, 1).id));
  EXPECT_TRUE(compares_packets(figure("nccl-duet", "all_reduce", 4096, false, 1).id));
  EXPECT_FALSE(compares_packets(figure("nccl-duet", "all_reduce", 2 * kMi, false, 1).id));
  EXPECT_FALSE(compares_packets(figure("nccl", "broadcast", 4096, false, 1).id));
  EXPECT_FALSE(compares_packets(figure("kernel", "all_gather", 4096, false, 1).id));
}

TEST(BesideNccl, PacketsAreComparedByCallsInARow) {
  Mode others;
  others.flush = true;
  others.warm_up_seconds = 3;
  others.max_iterations = 7;
  const std::optional<Mode> mode = packets_mode(others);
  ASSERT_TRUE(mode);
  EXPECT_EQ(mode->kind, ModeKind::loop);
  EXPECT_EQ(mode->iterations, 20);
  EXPECT_EQ(mode->min_iterations, 7);
  EXPECT_EQ(mode->max_iterations, 7);
  EXPECT_TRUE(mode->flush);
  EXPECT_EQ(mode->warm_up_seconds, 3);
  EXPECT_EQ(packets_mode({})->max_iterations, 15);
  EXPECT_FALSE(packets_mode(loop_mode()));
  EXPECT_FALSE(packets_mode(do_bench_mode()));
}

TEST(BesideNccl, ComparedPacketsStandInNoOtherTable) {
  const std::vector<Finished> left = without_compared_packets(
      {figure("nccl", "all_gather", 4096, true, 1), figure("dma", "all_gather", 4096, true, 1),
       figure("nccl", "all_gather", 2 * kMi, true, 1)});
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].id.engine, "dma");
  EXPECT_EQ(left[1].id.engine, "nccl");
}

}  // namespace
}  // namespace duet
