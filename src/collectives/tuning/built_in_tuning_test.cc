#include "collectives/tuning/built_in_tuning.h"

#include <gtest/gtest.h>

#include <array>

#include "collectives/tuning/changeover.h"
#include "collectives/tuning/drop_in_tuning.h"
#include "core/error.h"
#include "results/journal.h"

namespace duet {
namespace {

TuningSetup setup(const std::string& model, bool simulated, int ranks) {
  return {"somewhere", ranks, false, model, simulated};
}

std::string row(int ranks, const std::string& all_gather) {
  std::string text = "[[row]]\nranks = " + std::to_string(ranks) +
                     "\nsource = \"a journal\"\n[row.dma_from]\nall_gather = \"" + all_gather +
                     "\"\n";
  for (const CollectiveKind kind : all_collectives()) {
    if (kind != CollectiveKind::all_gather) text += std::string(name(kind)) + " = \"1M\"\n";
  }
  return text;
}

const std::string kHead = "models = [\"One\"]\nsimulated = false\n";

TEST(BuiltInTuning, HasEveryCollectiveForTwoFourAndEightRanks) {
  EXPECT_GE(tuning_tables().size(), 4u);
  for (const TuningTable& table : tuning_tables()) {
    for (const int ranks : {2, 4, 8}) {
      ASSERT_EQ(table.by_ranks.count(ranks), 1u) << table.file;
      EXPECT_EQ(table.by_ranks.at(ranks).all().size(), all_collectives().size()) << table.file;
    }
  }
}

TEST(BuiltInTuning, ASimulatedMachineGoesByItsOwnTable) {
  const auto of = [](bool simulated) {
    return built_in_thresholds(setup("NVIDIA H200", simulated, 4)).all();
  };
  EXPECT_NE(of(true), of(false));
  const auto only_simulated = [](bool simulated) {
    return built_in_thresholds(setup("AMD Instinct MI300X", simulated, 8)).all();
  };
  EXPECT_EQ(only_simulated(true), only_simulated(false));
}

TEST(BuiltInTuning, UnknownModelsGoByTheUsualTable) {
  EXPECT_EQ(built_in_thresholds(setup("A GPU that nobody sells", true, 4)).all(),
            built_in_thresholds(setup("NVIDIA H200", false, 4)).all());
}

TEST(BuiltInTuning, OtherNumbersOfRanksGoByTheNearest) {
  const auto of = [](int ranks) {
    return built_in_thresholds(setup("NVIDIA H200", false, ranks)).all();
  };
  EXPECT_EQ(of(1), of(2));
  EXPECT_EQ(of(3), of(4));
  EXPECT_EQ(of(5), of(4));
  EXPECT_EQ(of(6), of(8));
  EXPECT_EQ(of(64), of(8));
  EXPECT_NE(of(2), of(4));
  EXPECT_NE(of(4), of(8));
}

TEST(BuiltInTuning, ReadsSizesAndNever) {
  const TuningTable table =
      parse_tuning_table("one", kHead + row(2, "64M") + row(4, "never") + row(8, "0"));
  EXPECT_EQ(table.by_ranks.at(2).dma_from(CollectiveKind::all_gather), 64u << 20);
  EXPECT_EQ(table.by_ranks.at(4).dma_from(CollectiveKind::all_gather), Thresholds::kNever);
  EXPECT_EQ(table.by_ranks.at(8).dma_from(CollectiveKind::all_gather), 0u);
  EXPECT_EQ(table.by_ranks.at(8).dma_from(CollectiveKind::scatter), 1u << 20);
}

const std::string kBesideNccl =
    "[row.beside_nccl]\nmodels = [\"Two\"]\nsource = \"a journal\"\npackets_to = \"64K\"\n"
    "[row.beside_nccl.copies_from]\nall_gather = \"16M\"\nall_to_all = \"never\"\n"
    "broadcast = \"1M\"\nreduce_scatter = \"1M\"\nall_reduce = \"1M\"\nsend_recv = \"2M\"\n";

TEST(BuiltInTuning, ARowMayTellOfTheDropInOnSomeOfItsModels) {
  const TuningTable table =
      parse_tuning_table("one", kHead + row(2, "64M") + kBesideNccl + row(4, "1M"));
  ASSERT_EQ(table.beside_nccl.size(), 1u);
  const DropInThresholds& read = table.beside_nccl.at(2);
  EXPECT_EQ(read.models, std::vector<std::string>{"Two"});
  EXPECT_EQ(read.packets_to, 64u << 10);
  EXPECT_EQ(read.copies_from[0], 16u << 20);
  EXPECT_FALSE(read.copies_from[1].has_value());
  EXPECT_EQ(read.copies_from[5], 2u << 20);
  EXPECT_EQ(read.kernel_to, DropInThresholds{}.kernel_to);
}

TEST(BuiltInTuning, ARowMayTellOfTheDropInsKernel) {
  const TuningTable table = parse_tuning_table(
      "one", kHead + row(2, "64M") + kBesideNccl +
                 "[row.beside_nccl.kernel_to]\nall_gather = \"8M\"\nall_to_all = \"never\"\n"
                 "broadcast = \"32M\"\nreduce_scatter = \"4M\"\nall_reduce = \"2M\"\n");
  EXPECT_EQ(table.beside_nccl.at(2).kernel_to,
            (std::array<std::uint64_t, 5>{8u << 20, 0, 32u << 20, 4u << 20, 2u << 20}));
}

TEST(BuiltInTuning, TheDropInsThresholdsHoldForTheMeasuredModelAndRanksOnly) {
  const auto two = built_in_drop_in("NVIDIA H200", 2);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->copies_from[0], 16u << 20);
  EXPECT_EQ(two->copies_from[4], 256u << 20);
  EXPECT_EQ(two->packets_to, 256u << 10);
  EXPECT_FALSE(built_in_drop_in("NVIDIA H200", 4));
  EXPECT_FALSE(built_in_drop_in("NVIDIA H100 80GB HBM3", 2));
}

// What `duet collective --tune` would find in a journal.
BesideNccl found_in(const std::string& journal) {
  std::vector<Finished> finished;
  for (const JournalRun& run : load_journal(DUET_RESULTS + ("/" + journal)).runs) {
    for (const Record& each : run.results) {
      if (each.outcome == Outcome::measured) {
        finished.push_back({each.id, each.seconds.median, each.cost});
      }
    }
  }
  return beside_nccl(finished);
}

TEST(BuiltInTuning, TheDropInsThresholdsAreThoseOfTheirJournals) {
  const DropInThresholds shipped = built_in_drop_in("NVIDIA H200", 2).value();
  const DropInThresholds measured = drop_in_thresholds(
      {found_in("h200-2/nccl_shim/tune-one.txt"), found_in("h200-2/nccl_shim/tune-several.txt")},
      /*with_packets=*/true);
  EXPECT_EQ(shipped.copies_from, measured.copies_from);
  EXPECT_EQ(shipped.packets_to, measured.packets_to);
  EXPECT_EQ(shipped.kernel_to, measured.kernel_to);
}

TEST(BuiltInTuning, RefusesWhatItDoesNotKnow) {
  for (const std::string& text :
       {kHead, kHead + row(2, "soon"), kHead + row(2, "1M") + row(2, "1M"), kHead + row(1, "1M"),
        kHead + row(2, "1M") + "all_reuce = \"1M\"\n", "models = [\"One\"]\n" + row(2, "1M"),
        kHead + "[[row]]\nranks = 2\nsource = \"a\"\n[row.dma_from]\nall_gather = \"1M\"\n",
        kHead + row(2, "1M") + kBesideNccl + "gather = \"1M\"\n",
        kHead + row(2, "1M") + kBesideNccl + "[row.beside_nccl.kernel_to]\nall_gather = \"1M\"\n",
        kHead + row(2, "1M") + "[row.beside_nccl]\nmodels = [\"Two\"]\n",
        kHead + row(2, "1M") +
            "[row.beside_nccl]\nmodels = [\"Two\"]\nsource = \"a\"\npackets_to = \"100\"\n"}) {
    EXPECT_THROW(parse_tuning_table("one", text), UsageError) << text;
  }
}

}  // namespace
}  // namespace duet
