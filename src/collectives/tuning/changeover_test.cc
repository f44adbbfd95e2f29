#include "collectives/tuning/changeover.h"

#include <gtest/gtest.h>

#include <array>

#include "collectives/tuning/built_in_tuning.h"
#include "collectives/tuning/drop_in_tuning.h"

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

// all_gathers, of which NCCL takes 98 s.
class KernelBesideNccl : public ::testing::Test {
 protected:
  void add(std::uint64_t bytes, double drop_in, double by_kernel) {
    finished_.push_back(figure("nccl", "all_gather", bytes, false, 98));
    finished_.push_back(figure("nccl-duet", "all_gather", bytes, false, drop_in));
    finished_.push_back(figure("nccl-duet-kernel", "all_gather", bytes, false, by_kernel));
  }
  SizeRange kernel() const { return beside_nccl(finished_).kernel.at(CollectiveKind::all_gather); }
  std::vector<Finished> finished_;
};

TEST_F(KernelBesideNccl, IsMeasuredFromPacketsOn) {
  add(kMi / 128, 50, 120);
  add(kMi / 4, 50, 120);
  add(kMi / 2, 90, 80);  // as NCCL both, but packets are slower than the kernel
  add(kMi, 110, 80);
  add(4 * kMi, 200, 90);
  add(16 * kMi, 95, 80);  // likewise copies
  add(64 * kMi, 80, 80);
  add(256 * kMi, 60, 99.9);
  add(1024 * kMi, 60, 110);
  EXPECT_EQ(kernel(), (SizeRange{kMi / 4, 256 * kMi}));
  const BesideNccl found = beside_nccl(finished_);
  EXPECT_EQ(found.packets, (Packets{{CollectiveKind::all_gather, kMi / 4}}));
  EXPECT_EQ(found.copies.dma_from(CollectiveKind::all_gather), 64 * kMi);
}

TEST_F(KernelBesideNccl, DoesNotCountWhereItIsSlowBehindPackets) {
  add(kMi / 128, 50, 40);
  add(2 * kMi, 200, 110);
  add(4 * kMi, 95, 80);
  EXPECT_EQ(kernel(), SizeRange{});
  const BesideNccl found = beside_nccl(finished_);
  EXPECT_EQ(found.packets, (Packets{{CollectiveKind::all_gather, kMi / 128}}));
  EXPECT_EQ(found.copies.dma_from(CollectiveKind::all_gather), 4 * kMi);
}

TEST_F(KernelBesideNccl, MayHoldForAllThatWasMeasured) {
  add(kMi / 128, 110, 80);
  add(kMi, 110, 80);
  EXPECT_EQ(kernel(), (SizeRange{0, kMi}));
  finished_.clear();
  add(kMi / 64, 110, 80);  // of smaller ones nothing is known
  add(2 * kMi, 110, 80);
  EXPECT_EQ(kernel(), (SizeRange{kMi / 64 - 1, 2 * kMi}));
}

BesideNccl measured(std::uint64_t packets, const SizeRange& kernel) {
  BesideNccl made;
  for (const CollectiveKind kind : kInPackets) made.packets[kind] = packets;
  for (const CollectiveKind kind : kInChunks) {
    made.copies.set(kind, 64 * kMi);
    made.kernel[kind] = kernel;
  }
  return made;
}

TEST(DropInThresholds, AreThoseThatHoldInEachMeasurement) {
  BesideNccl one = measured(kMi, {kMi / 8, 64 * kMi}), several = measured(kMi / 4, {0, 16 * kMi});
  one.copies.set(CollectiveKind::all_reduce, Thresholds::kNever);
  one.kernel[CollectiveKind::all_to_all] = {kMi / 2, 64 * kMi};  // packets end before
  several.kernel.erase(CollectiveKind::reduce_scatter);
  several.kernel[CollectiveKind::all_reduce].to = kMi / 4;  // no larger than packets
  const DropInThresholds found = drop_in_thresholds({one, several}, true);
  EXPECT_EQ(found.packets_to, kMi / 4);
  EXPECT_EQ(found.copies_from[0], 64 * kMi);
  EXPECT_FALSE(found.copies_from[4].has_value());
  EXPECT_FALSE(found.copies_from[5].has_value());
  // A broadcast is not made by packets, so that it would have to be as fast from 0 on.
  EXPECT_EQ(found.kernel_to, (std::array<std::uint64_t, 5>{16 * kMi, 0, 0, 0, 0}));
  EXPECT_EQ(drop_in_thresholds({several}, false).kernel_to[2], 16 * kMi);
  EXPECT_EQ(drop_in_thresholds({one}, false).kernel_to[0], 0u);
  EXPECT_TRUE(drop_in_thresholds({}, true).take_nothing());
}

// What is printed is read again.
TEST(DropInThresholds, AreARowOfATable) {
  DropInThresholds found = drop_in_thresholds({measured(kMi / 4, {0, 16 * kMi})}, true);
  found.models = {"One"};
  Thresholds dma_from;
  for (const CollectiveKind kind : all_collectives()) dma_from.set(kind, 3 * kMi / 2);
  dma_from.set(CollectiveKind::scatter, Thresholds::kNever);
  Thresholds of_journals;
  of_journals.set(CollectiveKind::all_gather, 3 * kMi / 2);
  const std::string row = tuning_row(2, "a journal", dma_from, of_journals, found);
  const TuningTable read =
      parse_tuning_table("one", "models = [\"One\"]\nsimulated = false\n\n" + row);
  EXPECT_EQ(read.by_ranks.at(2).all(), dma_from.all());
  const DropInThresholds& again = read.beside_nccl.at(2);
  EXPECT_EQ(again.models, found.models);
  EXPECT_EQ(again.packets_to, found.packets_to);
  EXPECT_EQ(again.copies_from, found.copies_from);
  EXPECT_EQ(again.kernel_to, found.kernel_to);
  EXPECT_NE(row.find("all_gather = \"1536K\"\nall_to_all = \"1536K\"  # not measured"),
            std::string::npos)
      << row;
}

TEST(BesideNccl, ComparesSmallCallsThatTheDropInMakesByKernels) {
  EXPECT_TRUE(compares_small_calls(figure("nccl", "all_gather", 1 * kMi, true, 1).id));
  EXPECT_TRUE(compares_small_calls(figure("nccl-duet", "all_reduce", 4096, false, 1).id));
  EXPECT_FALSE(compares_small_calls(figure("nccl-duet", "all_reduce", 2 * kMi, false, 1).id));
  EXPECT_TRUE(compares_small_calls(figure("nccl", "broadcast", 4096, false, 1).id));
  EXPECT_FALSE(compares_small_calls(figure("nccl", "send_recv", 4096, false, 1).id));
  EXPECT_TRUE(compares_small_calls(figure("nccl-duet-kernel", "all_reduce", 4096, false, 1).id));
  EXPECT_FALSE(compares_small_calls(figure("kernel", "all_gather", 4096, false, 1).id));
}

TEST(BesideNccl, SmallCallsAreComparedInARow) {
  Mode others;
  others.flush = true;
  others.warm_up_seconds = 3;
  others.max_iterations = 7;
  const std::optional<Mode> mode = small_calls_mode(others);
  ASSERT_TRUE(mode);
  EXPECT_EQ(mode->kind, ModeKind::loop);
  EXPECT_EQ(mode->iterations, 20);
  EXPECT_EQ(mode->min_iterations, 7);
  EXPECT_EQ(mode->max_iterations, 7);
  EXPECT_TRUE(mode->flush);
  EXPECT_EQ(mode->warm_up_seconds, 3);
  EXPECT_EQ(small_calls_mode({})->max_iterations, 15);
  EXPECT_FALSE(small_calls_mode(loop_mode()));
  EXPECT_FALSE(small_calls_mode(do_bench_mode()));
}

TEST(BesideNccl, ComparedSmallCallsStandInNoOtherTable) {
  const std::vector<Finished> left = without_compared_small_calls(
      {figure("nccl", "all_gather", 4096, true, 1), figure("dma", "all_gather", 4096, true, 1),
       figure("nccl", "all_gather", 2 * kMi, true, 1)});
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].id.engine, "dma");
  EXPECT_EQ(left[1].id.engine, "nccl");
}

}  // namespace
}  // namespace duet
