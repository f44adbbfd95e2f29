#include "runtime/advised.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "core/error.h"
#include "overlap/advisor/probes.h"
#include "overlap/advisor/table_file.h"

namespace duet {
namespace {

class Advised : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "/duet_advised.json";
    std::filesystem::remove(path_);
    setenv("DUET_ADVICE", path_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("DUET_ADVICE");
    std::filesystem::remove(path_);
  }

  // As if both sides had been measured beside each other: `dma` hides the shorter one.
  void store() {
    DeviceTable table;
    table.device = "sim:h200-4";
    table.model = "NVIDIA H200";
    table.ranks = 4;
    table.compute_units = 132;
    table.vendor = "vendor-model";
    const GemmProblem gemm = parse_problem("8192x8192x8192 bf16 nn");
    const GemmProblem flat = parse_problem("64x57344x8192 bf16 nn");
    table.gemms = {{gemm, 2e-3, {}}, {flat, 3e-4, {}}};
    for (const char* engine : {"vendor-model", "dma"}) {
      table.collectives.push_back(
          {CollectiveKind::all_gather, engine, {{1 << 16, 1e-5}, {1ull << 30, 2e-3}}, {}, 0});
    }
    const auto beside = [&](OverlapPolicyKind kind, const char* engine, double together) {
      table.besides.push_back({{kind, 0},
                               engine,
                               gemm,
                               CollectiveKind::all_gather,
                               1ull << 30,
                               2e-3,
                               2e-3,
                               together,
                               1,
                               1});
    };
    beside(OverlapPolicyKind::priority, "vendor-model", 3e-3);
    beside(OverlapPolicyKind::dma, "dma", 2.1e-3);
    TableFile(path_).store(table);
  }

  std::string path_;
};

TEST_F(Advised, IsTheFastestPolicyOfTheStoredTable) {
  store();
  const OverlapPolicy policy =
      advised_policy("sim:h200-4", 4, "gemm:8192x8192x8192:bf16", "all_gather:896M");
  EXPECT_EQ(name(policy), "dma");
}

TEST_F(Advised, SaysWhatItLacks) {
  const auto ask = [](int ranks, const char* compute) {
    return advised_policy("sim:h200-4", ranks, compute, "all_gather:896M");
  };
  EXPECT_THROW(ask(4, "gemm:8192x8192x8192"), Unavailable);
  store();
  EXPECT_THROW(ask(2, "gemm:8192x8192x8192"), Unavailable);
  EXPECT_THROW(ask(4, "gemm:8192"), UsageError);
}

}  // namespace
}  // namespace duet
