// The schedules of collectives whose rows the caller multiplies, proved for many ranks, rows and
// ranges; and nothing in them that is not needed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/schedule/algorithms/algorithm.h"
#include "collectives/schedule/removals_fixture.h"

namespace duet {
namespace {

struct Rows {
  CollectiveKind kind = CollectiveKind::all_gather;
  RowSums sums = RowSums::by_compute;
  int ranks = 2;
  std::uint64_t rows = 4;  // of a rank; of an all_reduce of all
  int ranges = 1;
  bool in_place = true;
  int streams = 1;
  bool joined = false;
};

Algorithm algorithm_of(const Rows& rows) {
  if (rows.kind == CollectiveKind::all_gather) return row_gather();
  return rows.sums == RowSums::by_compute ? row_ring() : row_slots();
}

CollectiveSchedule schedules(const Rows& rows) {
  constexpr std::uint64_t kColumns = 3;
  AlgorithmInput input{{}, 0, rows.ranks, CopyLanes{2, true}};
  input.collective.kind = rows.kind;
  input.collective.dtype = DType::bf16;
  input.collective.count = rows.rows * kColumns;
  input.collective.rows = {kColumns, rows.ranges, rows.sums, rows.streams, rows.joined};
  input.in_place = rows.in_place;
  CollectiveSchedule all{input.collective, {}, {}};
  for (input.rank = 0; input.rank < input.ranks; ++input.rank) {
    EXPECT_TRUE(fits(algorithm_of(rows), input));
    all.ranks.push_back(algorithm_of(rows).schedule(input));
    all.in_place.push_back(rows.in_place);
  }
  return all;
}

std::string text_of(const Rows& rows) {
  return fmt::format("{} {}, {} ranks, {} rows in {} ranges on {} streams{}{}", name(rows.kind),
                     name(rows.sums), rows.ranks, rows.rows, rows.ranges, rows.streams,
                     rows.in_place ? ", in place" : "", rows.joined ? ", joined" : "");
}

template <class Check>
void for_all_ways(Rows rows, const Check& check) {
  for (rows.streams = 1; rows.streams <= 2; ++rows.streams) {
    for (const CollectiveKind kind :
         {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
      for (const RowSums sums : {RowSums::by_compute, RowSums::in_slots}) {
        for (const bool in_place : {false, true}) {
          if (kind == CollectiveKind::all_gather && sums == RowSums::in_slots) continue;
          rows.kind = kind;
          rows.sums = sums;
          rows.in_place = in_place;
          rows.joined = false;
          check(rows);
          rows.joined = true;
          if (kind == CollectiveKind::all_gather) check(rows);
        }
      }
    }
  }
}

// Fewer rows than ranks, rows that ranks and ranges do not divide, and whole tiles among them.
TEST(RowSchedules, AreRightForAllRanksRowsAndRanges) {
  for (const int ranks : {1, 2, 3, 4, 5, 8, 9}) {
    for (const std::uint64_t count : {0, 1, 3, 16, 300}) {
      for (const int ranges : {1, 2, 3}) {
        for_all_ways(
            {CollectiveKind::all_gather, RowSums::by_compute, ranks, count, ranges},
            [](const Rows& each) { ASSERT_EQ(fault_of(schedules(each)), "") << text_of(each); });
      }
    }
  }
}

TEST(RowSchedules, NeedEveryWaitSignalAndEdge) {
  for (const int ranks : {2, 3, 4}) {
    for (const int ranges : {1, 2}) {
      for_all_ways({CollectiveKind::all_gather, RowSums::by_compute, ranks, 12, ranges},
                   [](const Rows& each) {
                     EXPECT_EQ(unnoticed_removals(schedules(each)), std::vector<std::string>{})
                         << text_of(each);
                   });
    }
  }
}

// Plans of equal sizes on one caller's stream.
TEST(RowSchedules, ThatShareSlots) {
  for (const std::uint64_t rows : {2, 12}) {
    const Rows apart{CollectiveKind::reduce_scatter, RowSums::in_slots, 3, rows, 2, false};
    const CollectiveSchedule a = schedules(apart), b = schedules(apart);
    EXPECT_TRUE(a.ranks[0].may_share_memory);
    EXPECT_EQ(fault_of(CheckedCalls{{&a, &b, &b, &a}, true}), "") << text_of(apart);
    // One that asks nobody would write where the other one still reads.
    const Rows all{CollectiveKind::all_reduce, RowSums::in_slots, 3, 3 * rows, 2, false};
    const CollectiveSchedule other = schedules(all);
    EXPECT_FALSE(other.ranks[0].may_share_memory);
    EXPECT_NE(fault_of(CheckedCalls{{&a, &other}, true}), "") << text_of(all);
  }
}

// A layer gathers, multiplies twice, and scatters: plans of one session in turns.
TEST(RowSchedules, OfALayerMix) {
  for (const int ranks : {2, 3}) {
    Rows rows{CollectiveKind::all_gather, RowSums::by_compute, ranks, 8, 2};
    const CollectiveSchedule gather = schedules(rows);
    rows.kind = CollectiveKind::reduce_scatter;
    for (const RowSums sums : {RowSums::by_compute, RowSums::in_slots}) {
      rows.sums = sums;
      const CollectiveSchedule scatter = schedules(rows);
      EXPECT_EQ(fault_of(CheckedCalls{{&gather, &scatter, &gather, &scatter}}), "") << ranks;
    }
  }
}

TEST(RowSchedules, MultiplyEachRangeOnce) {
  CollectiveSchedule others = schedules(Rows{});
  for (Step& step : others.ranks[1].steps) {
    if (step.rows && step.rows->place.buffer == BufferRole::send) step.rows->rows.first = 0;
  }
  EXPECT_NE(fault_of(others).find("send of rank 1 in call 0"), std::string::npos);

  CollectiveSchedule twice = schedules(Rows{CollectiveKind::reduce_scatter});
  for (Step& step : twice.ranks[0].steps) {
    if (step.rows) step.rows->adds = false;
  }
  EXPECT_NE(fault_of(twice).find("writes a second time"), std::string::npos) << fault_of(twice);

  CollectiveSchedule other = schedules(Rows{CollectiveKind::reduce_scatter});
  for (Step& step : other.ranks[0].steps) {
    if (step.rows && step.rows->adds) step.rows->rows.first = 1;
  }
  EXPECT_NE(fault_of(other).find("expected"), std::string::npos);

  CollectiveSchedule foreign = schedules(Rows{});
  for (Step& step : foreign.ranks[0].steps) {
    if (step.rows) step.rows->place.rank = 1;
  }
  EXPECT_NE(fault_of(foreign).find("expected its own"), std::string::npos);
}

}  // namespace
}  // namespace duet
