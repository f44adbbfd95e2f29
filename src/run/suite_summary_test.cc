#include "run/suite_summary.h"

#include <gtest/gtest.h>

#include <sstream>

namespace duet {
namespace {

Record cpu_gemm(const char* benchmark, const char* engine, double tflops) {
  const std::int64_t n = 2048;
  const double flop = 2.0 * n * n * n;
  Measurement measurement;
  measurement.id = {benchmark, "host", engine, {{"m", n}, {"n", n}, {"k", n}, {"dtype", "fp32"}}};
  measurement.cost.flop = flop;
  measurement.sampling.emplace();
  measurement.sampling->samples = {flop / tflops / 1e12};
  return make_record(measurement);
}

Record overlap(double fraction_of_ideal) {
  Measurement measurement;
  measurement.id = {"overlap", "host", "dma", {}};
  measurement.sampling.emplace();
  measurement.sampling->samples = {1e-3};
  Record record = make_record(measurement);
  record.metrics = {{"fraction_of_ideal", fraction_of_ideal}};
  return record;
}

// The text of a section with these results, without the header.
std::string line_of(const std::string& benchmark, const std::vector<Record>& results) {
  DeviceInfo device;
  device.name = "host:0";
  device.kind = "host";
  device.model = "CPU";
  Environment environment;
  environment.machines = {{"host", false, {device}, {}}};
  std::ostringstream out;
  SuiteSummary summary(out, environment);
  Section section;
  section.benchmark = benchmark;
  section.machine = "host";
  summary.begin(section);
  for (const Record& record : results) summary.result(record, false);
  summary.end();
  return out.str().substr(out.str().find('\n') + 1);
}

TEST(SuiteSummary, DoubtsThatALaterEngineSettlesAreNotCounted) {
  const Record peak = cpu_gemm("gemm_peak", "fma-peak", 1.0);
  const Record slow = cpu_gemm("gemm", "slow", 0.5), fast = cpu_gemm("gemm", "fast", 0.9);
  EXPECT_NE(line_of("gemm", {peak, slow}).find("LOW; 1 in doubt"), std::string::npos);
  const std::string settled = line_of("gemm", {peak, slow, fast});
  EXPECT_NE(settled.find("PASS"), std::string::npos) << settled;
  EXPECT_EQ(settled.find("doubt"), std::string::npos) << settled;
}

TEST(SuiteSummary, AnOverlapWithoutGainSaysSo) {
  EXPECT_NE(line_of("overlap", {overlap(0.9)}).find("0.90 of ideal"), std::string::npos);
  EXPECT_NE(line_of("overlap", {overlap(-0.04)}).find("no gain (-0.04)"), std::string::npos);
  EXPECT_NE(line_of("overlap", {overlap(-0.001)}).find("no gain (0.00)"), std::string::npos);
}

}  // namespace
}  // namespace duet
