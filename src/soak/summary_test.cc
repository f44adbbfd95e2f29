#include "soak/summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "results/record_json.h"
#include "soak/record.h"

namespace duet {
namespace {

SoakRound round_of(int number, std::vector<double> tflops, const std::string& product = "square") {
  SoakRound round;
  round.round = number;
  round.seed = 9;
  round.engine = "model";
  round.product = product;
  round.seconds = 10;
  round.batches = {0.1, 0.2};
  round.flop = 1e12;
  round.compared_bytes = 2e9;
  round.wire_bytes = 1e9;
  round.tflops = std::move(tflops);
  round.limits = {"", ""};
  round.devices.resize(2);
  return round;
}

SoakReport report_of(int rounds) {
  SoakReport report;
  report.host = "node7";
  report.devices = {"sim:0", "sim:1"};
  report.models = {"H200", "H200"};
  report.slow_below = 0.7;
  for (int number = 1; number <= rounds; ++number) {
    report.rounds.push_back(round_of(number, {100, 101}));
  }
  return report;
}

TEST(SoakSummary, SaysThatAllIsWell) {
  const SoakReport report = report_of(6);
  EXPECT_FALSE(is_faulty(report));
  EXPECT_EQ(one_line_of(report),
            "duet soak: OK node7: 6 rounds in 1 min on 2 devices: 12.0 GB compared, 0 wrong "
            "results, 6.0 GB moved, 0.050 TFLOP/s a device; rates 1.00 to 1.00 of their medians");
}

TEST(SoakSummary, NamesWhatIsWrong) {
  SoakReport report = report_of(6);
  report.rounds[2].findings = {{SoakFault::memory, "sim:1", "1 of 8 bytes differ"}};
  report.rounds[2].wrong = 1;
  report.checks = {"sim:0: ECC is off"};
  EXPECT_TRUE(is_faulty(report));
  const std::string line = one_line_of(report);
  EXPECT_EQ(line.rfind("duet soak: FAIL node7: round 3: memory at sim:1: 1 of 8 bytes differ; "
                       "sim:0: ECC is off; 6 rounds",
                       0),
            0u)
      << line;
  EXPECT_NE(line.find("1 wrong results"), std::string::npos);
  EXPECT_EQ(one_line_of(report, 1).find("ECC is off"), std::string::npos);
  report.interrupted = true;
  EXPECT_NE(one_line_of(report).find("FAIL node7: interrupted; "), std::string::npos);
}

TEST(SoakSummary, AnInterruptedRunThatFoundNothingSaysNothingOfTheNode) {
  SoakReport report = report_of(1);
  report.interrupted = true;
  EXPECT_EQ(one_line_of(report).rfind("duet soak: STOPPED node7: interrupted; 1 round in", 0), 0u);
}

TEST(SoakSummary, ARateFarBelowTheMedianIsAFindingWithItsReason) {
  SoakReport report = report_of(4);
  report.rounds.push_back(round_of(5, {69, 100}));
  report.rounds.back().limits[0] = "power cap";
  const std::vector<RoundFinding> slow = slow_rounds(report);
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].round, 5);
  EXPECT_EQ(text_of(slow[0].finding),
            "slow at sim:0: 0.69 of the median rate of square; clocks limited by: power cap");
  report.slow_below = 0.6;
  EXPECT_TRUE(slow_rounds(report).empty());
  report.slow_below = 0;
  EXPECT_TRUE(slow_rounds(report).empty());
}

TEST(SoakSummary, RatesAreComparedOnlyWithThoseOfTheirProductAndModel) {
  SoakReport report = report_of(6);
  report.rounds.push_back(round_of(7, {10, 10}, "another"));
  EXPECT_TRUE(slow_rounds(report).empty());
  report.models[1] = "H100";
  report.rounds[0].tflops = {100, 50};
  EXPECT_EQ(slow_rounds(report).size(), 1u);
  for (SoakRound& round : report.rounds) round.tflops[1] = 50;
  EXPECT_TRUE(slow_rounds(report).empty());
}

// Of four devices, whose rates vary by a few thousandths.
SoakReport four_devices(int slow, double loss) {
  SoakReport report = report_of(0);
  report.devices = {"sim:0", "sim:1", "sim:2", "sim:3"};
  report.models.assign(4, "H200");
  for (int number = 1; number <= 24; ++number) {
    std::vector<double> tflops;
    for (int device = 0; device < 4; ++device) {
      const double noise = 0.002 * ((device * 7 + number * 3) % 5 - 2);
      tflops.push_back(100 * (1 + noise) * (device == slow ? 1 - loss : 1));
    }
    report.rounds.push_back(round_of(number, tflops, number % 2 == 0 ? "square" : "wide"));
  }
  return report;
}

TEST(SoakSummary, ADeviceThatIsAlwaysSlowerThanTheOthersIsNamed) {
  EXPECT_TRUE(slow_devices(four_devices(-1, 0)).empty());
  const SoakReport report = four_devices(2, 0.12);
  EXPECT_TRUE(slow_rounds(report).empty());
  const std::vector<RoundFinding> slow = slow_devices(report);
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].finding.place, "sim:2");
  EXPECT_NE(lines_of(report).find("slow at sim:2: 12."), std::string::npos) << lines_of(report);
  SoakReport unjudged = report;
  unjudged.slow_below = 0;
  EXPECT_FALSE(is_faulty(unjudged));
}

TEST(SoakSummary, IsTheSameOfRecords) {
  SoakReport report = report_of(5);
  report.rounds[1].findings = {{SoakFault::counter, "sim:0", "1 PCIe replays more"},
                               {SoakFault::link, "sim:0 > sim:1", "3 of 8 bytes differ"}};
  report.rounds[1].wrong = 2;
  report.rounds.push_back(round_of(6, {40, 100}));
  report.rounds.back().limits[0] = "thermal, by software";
  SoakReport again = report;
  again.rounds.clear();
  for (const SoakRound& round : report.rounds) {
    const Record record = record_of(round, "sim", report.devices);
    const auto line = journal_line_from(to_json(record));
    const auto read = soak_round_of(std::get<Record>(line), report.devices);
    ASSERT_TRUE(read);
    again.rounds.push_back(*read);
  }
  EXPECT_EQ(one_line_of(again), one_line_of(report));
  EXPECT_EQ(lines_of(again), lines_of(report));
}

TEST(SoakSummary, OutcomesOfRecordsFollowFromWhatWasFound) {
  const std::vector<std::string> devices = {"sim:0", "sim:1"};
  SoakRound round = round_of(1, {1, 3});
  round.batches = {0.01, 0.5, 0.02};  // which differ in what they multiply
  EXPECT_EQ(record_of(round, "sim", devices).outcome, Outcome::measured);
  EXPECT_EQ(record_of(round, "sim", devices).rates.value("tflops"), 2);
  round.findings = {{SoakFault::counter, "sim:0", "1 PCIe replays more"}};
  const Record counted = record_of(round, "sim", devices);
  EXPECT_EQ(counted.outcome, Outcome::measured);
  EXPECT_EQ(counted.warnings.size(), 1u);
  round.findings.push_back({SoakFault::core, "sim:0", "a bit"});
  EXPECT_EQ(record_of(round, "sim", devices).outcome, Outcome::wrong);
  round.lost = true;
  EXPECT_EQ(record_of(round, "sim", devices).outcome, Outcome::failed);
  Record other;
  other.id.benchmark = "gemm";
  EXPECT_FALSE(soak_round_of(other, devices));
}

TEST(SoakSummary, MetricsHaveEachSampleOnce) {
  SoakReport report = report_of(6);
  report.rounds.back().findings = {{SoakFault::xid, "sim:1", "XID 79"},
                                   {SoakFault::xid, "sim:1", "XID 79"}};
  Telemetry hot;
  hot.watts = 700;
  hot.celsius = 80;
  report.rounds.back().devices[1].readings = {hot};
  report.rounds.back().devices[1].grown = {{"pcie_replays", 2}};
  const std::string text = prometheus_text(report, 1.5e9);
  EXPECT_EQ(text.rfind(kSoakPrometheusHead, 0), 0u);
  std::set<std::string> seen;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line[0] == '#') continue;
    EXPECT_TRUE(seen.insert(line.substr(0, line.rfind(' '))).second) << line;
  }
  for (const char* line :
       {"duet_soak_ok 0\n", "duet_soak_findings{fault=\"xid\",place=\"sim:1\"} 2\n",
        "duet_soak_watts{device=\"sim:1\"} 700\n",
        "duet_soak_counter_growth{device=\"sim:1\",counter=\"pcie_replays\"} 2\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
  SoakReport empty;
  EXPECT_NE(prometheus_text(empty, 0).find("duet_soak_rounds 0\n"), std::string::npos);
}

}  // namespace
}  // namespace duet
