#include "overlap/advisor/probes.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "overlap/advisor/advisor.h"
#include "overlap/runner.h"

namespace duet {
namespace {

DeviceTable measured(Machine& machine) {
  ProbeOptions options;
  options.collectives = {CollectiveKind::all_gather};
  options.mode.warm_ups = 0;
  options.mode.iterations = 1;
  std::vector<OverlapRow> rows;
  for (const auto make : {isolated_probes, pair_probes}) {
    Benchmark benchmark = make(machine, options, {});
    collect_rows(benchmark, rows);
    for (const Case& one : benchmark.cases) {
      try {
        one.run();
      } catch (const Unavailable&) {  // the runner would skip this case
      }
    }
  }
  DeviceTable table = empty_table(machine);
  add_rows(table, rows);
  return table;
}

TEST(Probes, MakeATableThatAdvisesAsTheSweepWould) {
  const auto machine = open_machine("sim:mi300x-8");
  const DeviceTable table = measured(*machine);
  EXPECT_EQ(table.device, "sim:mi300x-8");
  EXPECT_EQ(table.ranks, 8);
  EXPECT_EQ(table.vendor, "vendor-model");
  ASSERT_EQ(table.gemms.size(), 2u);
  const DevicePeaks unknown;
  const Forecast forecast(table, unknown);
  EXPECT_EQ(forecast.bound(table.gemms[0].problem), BoundClass::compute);
  EXPECT_EQ(forecast.bound(table.gemms[1].problem), BoundClass::memory);
  ASSERT_GE(table.collectives.size(), 2u);
  EXPECT_GE(table.collectives[0].times.size(), 2u);
  EXPECT_FALSE(table.collectives[0].granted.empty());
  // Copy engines use no compute units and are faster too.
  const OverlapScenario scenario = parse_scenario("gemm:16384x16384x8192", "all_gather:512M");
  const Advice advice = advise(table, {}, scenario);
  EXPECT_EQ(name(advice.policy), "dma") << advice.why;
  OverlapRunner runner(*machine, {});
  const double together = runner.run(scenario, advice.policy).times.together;
  EXPECT_NEAR(advice.seconds / together, 1, 0.1);
}

}  // namespace
}  // namespace duet
