#include "overlap/advisor/table_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "core/error.h"
#include "core/message_fixture.h"
#include "overlap/advisor/table_fixture.h"

namespace duet {
namespace {

class TableFileTest : public ::testing::Test {
 protected:
  void TearDown() override { std::remove(path_.c_str()); }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  std::string refusal() const {
    return message_of<UsageError>([&] { TableFile file(path_); });
  }
  const std::string path_ = ::testing::TempDir() + "duet_advice_" +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(TableFileTest, KeepsATableOfEachDevice) {
  DeviceTable table = round_table();
  table.besides = {beside(OverlapPolicyKind::dma, "dma", 0.1)};
  table.besides[0].policy = {OverlapPolicyKind::dma_partition, 8};
  TableFile(path_).store(table);
  DeviceTable other = round_table();
  other.ranks = 8;
  TableFile(path_).store(other);
  TableFile(path_).store(table);
  const TableFile file(path_);
  ASSERT_EQ(file.tables().size(), 2u);
  EXPECT_EQ(file.find("round", 2), nullptr);
  const DeviceTable* found = file.find("round", 4);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->compute_units, 100);
  EXPECT_EQ(name(found->gemms.at(1).problem), name(table.gemms[1].problem));
  EXPECT_EQ(found->gemms[0].taken.at(1).units, 8);
  EXPECT_EQ(found->collectives.at(0).times.at(1).bytes, 1000000000u);
  EXPECT_EQ(found->collectives[0].granted.at(0).factor, 2);
  EXPECT_EQ(name(found->besides.at(0).policy), "dma+partition:8");
  EXPECT_EQ(found->besides[0].together, table.besides[0].together);
}

TEST_F(TableFileTest, SaysWhatIsWrong) {
  EXPECT_TRUE(TableFile(path_).tables().empty());  // the file does not exist
  const auto says = [this](const std::string& text, const char* word) {
    write(text);
    EXPECT_TRUE(contains(refusal(), word));
  };
  says("no JSON", "\"format\": 1");
  says(R"({"format": 2, "tables": []})", "\"format\": 1");
  says(R"({"format": 1})", "tables");
  says(R"({"format": 1, "tables": [{"device": 3}]})", "table 1");
  says(R"({"format": 1, "tables": [{"device": "a", "model": "a", "ranks": -1}]})",
       "-1 is no whole number from 1 to 1000000");
  const std::string head =
      R"({"format": 1, "tables": [{"device": "a", "model": "a", "ranks": 2, "compute_units": 8, "vendor": "v",)";
  says(head + R"("gemms": [{"gemm": "64x64x64 bf16 nn", "seconds": 0, "taken": []}]}]})",
       "\"seconds\" is 0: expected a number of s from 1e-09 to 1000000");
  says(head + R"("gemms": [{"gemm": "64x64x64 bf16 nn", "seconds": 1e308, "taken": []}]}]})",
       "\"seconds\" is 1e+308");
  says(head + R"("gemms": [{"gemm": "64x64x64 bf16 nn", "seconds": 1, "taken": [[8, -1]]}]}]})",
       "a slowdown is -1: expected a number from 0.001 to 1000000");
  says(head + R"("gemms": [{"gemm": "64x64 bf16 nn", "seconds": 1, "taken": []}]}]})", "64x64");
  EXPECT_THROW(TableFile("").store(round_table()), UsageError);
}

}  // namespace
}  // namespace duet
