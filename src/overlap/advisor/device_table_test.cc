#include "overlap/advisor/device_table.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace duet {
namespace {

OverlapRow isolated(const std::string& side, const std::string& work, std::int64_t bytes,
                    std::int64_t units, double seconds) {
  OverlapRow row;
  row.id = {"overlap_isolated",
            "d",
            side == "compute" ? "cublas" : "nccl",
            {{"side", side}, {"work", work}, {"bytes", bytes}, {"units", units}}};
  row.seconds = seconds;
  row.metrics = {{"slowdown", 2 * seconds},
                 {"units_taken", units == 0 ? 0 : 100.0 - double(units)}};
  return row;
}

TEST(DeviceTable, SortsRowsIntoEntries) {
  DeviceTable table;
  add_rows(table, {isolated("compute", "64x64x64 bf16 nn", 0, 92, 0.75),
                   isolated("compute", "64x64x64 bf16 nn", 0, 0, 0.5),
                   isolated("communication", "all_gather", 4096, 0, 0.25),
                   isolated("communication", "all_gather", 64, 8, 3),
                   isolated("communication", "all_gather", 4096, 16, 0.25),
                   isolated("communication", "all_gather", 4096, 8, 0.5),
                   isolated("communication", "all_gather", 64, 0, 0.125),
                   isolated("communication", "all_reduce", 64, 0, 0)});  // skipped
  ASSERT_EQ(table.gemms.size(), 1u);
  EXPECT_EQ(table.gemms[0].seconds, 0.5);
  ASSERT_EQ(table.gemms[0].taken.size(), 2u);
  EXPECT_EQ(table.gemms[0].taken[1].units, 8);
  EXPECT_EQ(table.gemms[0].taken[1].factor, 1.5);
  ASSERT_EQ(table.collectives.size(), 1u);
  EXPECT_EQ(table.collectives[0].times.front().bytes, 64u);
  // The largest size that was measured on limited units.
  EXPECT_EQ(table.collectives[0].granted_bytes, 4096u);
  ASSERT_EQ(table.collectives[0].granted.size(), 2u);
  EXPECT_EQ(table.collectives[0].granted[0].factor, 1);
}

TEST(DeviceTable, InterpolatesFactors) {
  const std::vector<UnitFactor> factors = {{0, 1}, {8, 1.2}, {16, 1.6}};
  EXPECT_DOUBLE_EQ(factor_at(factors, 0), 1);
  EXPECT_DOUBLE_EQ(factor_at(factors, 12), 1.4);
  EXPECT_DOUBLE_EQ(factor_at(factors, 99), 1.6);
  EXPECT_DOUBLE_EQ(factor_at({}, 8), 1);
}

TEST(DeviceTable, NamesWhatARowLacks) {
  DeviceTable table;
  OverlapRow row = isolated("compute", "64x64x64 bf16 nn", 0, 0, 1);
  row.metrics.clear();
  EXPECT_THROW(add_rows(table, {row}), Error);
  row.id.axes = {};
  EXPECT_THROW(add_rows(table, {row}), Error);
  EXPECT_THROW(parse_problem("64x64x64 bf16"), UsageError);
  EXPECT_THROW(parse_problem("64x64x64 bf16 nn more"), UsageError);
}

}  // namespace
}  // namespace duet
