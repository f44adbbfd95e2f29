// Sides alone: on simulated machines, where units can be limited, and on the CPU, where they
// cannot.
#include "overlap/isolated/cases.h"

#include <gtest/gtest.h>

#include <map>

#include "core/error.h"
#include "overlap/row.h"

namespace duet {
namespace {

IsolatedOptions options_for(const OverlapScenario& scenario) {
  IsolatedOptions options;
  options.scenarios = {scenario};
  options.peaks.flop_per_s[DType::bf16] = 1000e12;
  options.peaks.memory_bytes_per_s = 5e12;
  options.mode.warm_ups = 1;
  options.mode.iterations = 3;
  options.device_name = "test";
  return options;
}

std::string note(const Measurement& measurement, const std::string& wanted) {
  for (const auto& [name, text] : measurement.notes) {
    if (name == wanted) return text;
  }
  return "";
}

TEST(Isolated, FindsSlowdownsClassesAndIdealSpeedups) {
  const auto machine = open_machine("sim:mi300x-8");
  const OverlapScenario scenario = parse_scenario("gemm:8192x8192x8192", "all_gather:896M");
  const Benchmark benchmark = isolated_benchmark(*machine, options_for(scenario), {});
  std::map<std::string, std::map<std::int64_t, OverlapRow>> rows;  // by engine and units
  std::vector<Finished> finished;
  for (const Case& one : benchmark.cases) {
    if (one.id.engine == "zero-cta") continue;
    const Measurement measurement = one.run();
    const OverlapRow row = row_of(measurement);
    rows[one.id.engine][row.number("units")] = row;
    finished.push_back({one.id, row.seconds, measurement.cost});
    if (row.number("units") > 0) continue;
    EXPECT_EQ(note(measurement, "class"),
              row.word("side") == "compute" ? "compute-bound" : "bandwidth-bound");
    EXPECT_DOUBLE_EQ(row.metric("slowdown"), 1);
  }
  // A GEMM bound by compute slows down by the share of units that are withheld. The library's
  // kernels reach their full rate at some number of units.
  const OverlapRow& without_64 = rows["model"].at(304 - 64);
  EXPECT_DOUBLE_EQ(without_64.metric("units_taken"), 64);
  EXPECT_NEAR(without_64.metric("slowdown"), 304.0 / 240, 0.1);
  EXPECT_NEAR(without_64.metric("flop_per_byte"), 8192.0 / 3, 1);
  const auto& library = rows["vendor-model"];
  EXPECT_GT(library.at(8).metric("slowdown"), 1.5);
  EXPECT_NEAR(library.at(64).metric("slowdown"), 1, 0.01);
  const double ring =
      2 * 7.0 / 8 * static_cast<double>(bytes_of(scenario.communication));  // sent and received
  EXPECT_NEAR(library.at(0).metric("memory_gb_per_s"), ring / library.at(0).seconds / 1e9, 1);

  const std::vector<Measurement> pairs = benchmark.conclude(finished);
  ASSERT_EQ(pairs.size(), 1u);
  const double compute = rows["model"].at(0).seconds, communication = library.at(0).seconds;
  EXPECT_NEAR(pairs[0].rates.at(0).second,
              (compute + communication) / std::max(compute, communication), 1e-9);
}

TEST(Isolated, SaysWhereUnitsCannotBeLimited) {
  const auto machine = open_machine("host:2");
  const OverlapScenario scenario = parse_scenario("gemm:64x64x64:fp32", "all_gather:64K");
  const Benchmark benchmark = isolated_benchmark(*machine, options_for(scenario), {});
  int limited = 0;
  for (const Case& one : benchmark.cases) {
    OverlapRow row;
    row.id = one.id;
    if (row.number("units") == 0) continue;
    ++limited;
    EXPECT_THROW(one.run(), Unavailable);
  }
  EXPECT_EQ(limited, 2);
  const Measurement whole = benchmark.cases.front().run();
  EXPECT_TRUE(whole.sampling->verified);
  EXPECT_EQ(note(whole, "class"), "");  // the peaks have no rate for fp32
}

TEST(Isolated, RefusesScenariosThatDoNotFit) {
  const auto machine = open_machine("host:2");
  OverlapScenario scenario = parse_scenario("gemm:64x64x64:fp32", "all_gather:64K");
  std::get<CollectiveSide>(scenario.communication).bytes = 1001;
  EXPECT_THROW(isolated_benchmark(*machine, options_for(scenario), {}), UsageError);
}

}  // namespace
}  // namespace duet
