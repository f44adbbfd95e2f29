#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "health/peers.h"
#include "health/report.h"

namespace duet {
namespace {

namespace fs = std::filesystem;

DeviceHealth good() {
  DeviceHealth health;
  health.ecc = true;
  health.uncorrected_errors = 0;
  health.remap_pending = health.remap_failed = false;
  health.links_up = 18;
  health.links_down = 0;
  return health;
}

TEST(HealthTest, EccFailsByErrorsByRowsAndWhereItIsOff) {
  EXPECT_EQ(ecc_check("cuda:0", good()).status, Status::ok);
  DeviceHealth bad = good();
  bad.uncorrected_errors = 2;
  EXPECT_EQ(ecc_check("cuda:0", bad).status, Status::failed);
  EXPECT_EQ(ecc_check("cuda:0", bad).text, "2 uncorrected memory errors");
  bad = good();
  bad.remap_pending = true;
  EXPECT_EQ(ecc_check("cuda:0", bad).status, Status::failed);
  bad = good();
  bad.remap_failed = true;
  EXPECT_EQ(ecc_check("cuda:0", bad).status, Status::failed);
  bad = good();
  bad.ecc = false;
  EXPECT_EQ(ecc_check("cuda:0", bad).status, Status::failed);
  bad = good();
  bad.uncorrected_errors.reset();
  EXPECT_EQ(ecc_check("cuda:0", bad).status, Status::unknown);
  EXPECT_EQ(ecc_check("host", std::nullopt).status, Status::unknown);
}

TEST(HealthTest, LinksAreHeldAgainstTheDriversAndTheSpecsNumber) {
  const auto links = [](int up, int down, int spec, bool alone) {
    DeviceHealth health;
    health.links_up = up;
    health.links_down = down;
    return links_check("cuda:0", health, spec, alone);
  };
  EXPECT_EQ(links(18, 0, 18, false).status, Status::ok);
  EXPECT_EQ(links(17, 1, 0, false).status, Status::failed);
  EXPECT_EQ(links(17, 0, 18, true).status, Status::failed);
  EXPECT_EQ(links(17, 0, 18, true).text, "17 of 18 links up");
  EXPECT_EQ(links(0, 18, 18, false).status, Status::failed);
  EXPECT_EQ(links(0, 18, 18, true).status, Status::unknown);  // there is no other end
  EXPECT_EQ(links(0, 12, 0, false).status, Status::unknown);  // no bridge was bought
  EXPECT_EQ(links_check("host", std::nullopt, 18, false).status, Status::unknown);
}

TEST(HealthTest, ClocksMayBeLimitedByThePowerCapOnly) {
  EXPECT_EQ(clocks_check("cuda:0", {{"", "power cap"}}).status, Status::ok);
  EXPECT_EQ(clocks_check("cuda:0", {{"power cap", "thermal, by hardware"}}).status, Status::failed);
  EXPECT_EQ(clocks_check("cuda:0", {{"hardware slowdown, power brake"}}).status, Status::failed);
  EXPECT_EQ(clocks_check("host", std::nullopt).status, Status::unknown);
}

// A folder as sysfs has it: a device behind a port.
class PcieTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "pcieXXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root = name;
    port = root / "devices/pci0000:00/0000:00:01.0";
    device = port / "0000:1b:00.0";
    fs::create_directories(device);
    fs::create_directories(root / "bus/pci/devices");
    fs::create_directory_symlink(device, root / "bus/pci/devices/0000:1b:00.0");
  }
  void TearDown() override { fs::remove_all(root); }

  static void put(const fs::path& file, const char* text) { std::ofstream(file) << text << '\n'; }

  Check check() { return pcie_check("cuda:0", pcie_width(root, "0000:1b:00.0")); }

  fs::path root, port, device;
};

TEST_F(PcieTest, ANarrowerLinkThanBothEndsAllowFails) {
  EXPECT_EQ(check().status, Status::unknown);
  put(device / "current_link_width", "8");
  put(device / "max_link_width", "16");
  EXPECT_EQ(check().status, Status::failed);
  EXPECT_EQ(check().text, "PCIe x8 of x16");
  put(port / "max_link_width", "8");  // a slot of eight lanes
  EXPECT_EQ(check().status, Status::ok);
  put(device / "max_link_width", "255");
  EXPECT_EQ(check().status, Status::unknown);
  EXPECT_FALSE(pcie_width(root, ""));
  EXPECT_FALSE(pcie_width(root, "0000:2b:00.0"));
}

// GEMMs of eight GPUs, of which one lacks a share of its rate.
std::vector<Check> peers_of_eight(int slow, double loss, int gpus = 8) {
  Environment environment;
  environment.machines.resize(1);
  environment.machines[0].name = "cuda";
  std::vector<Record> records;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    DeviceInfo device;
    device.name = "cuda:" + std::to_string(gpu);
    device.kind = "cuda";
    device.model = "H200";
    environment.machines[0].devices.push_back(device);
    for (const std::int64_t side : {1024, 4096, 8192}) {
      Measurement gemm;
      gemm.id = {"gemm", device.name, "cublas", {{"m", side}}};
      const double noise = 0.002 * ((gpu * 7 + side / 1024 * 3) % 5 - 2);
      const double seconds = 1e-3 * (1 + noise) / (1 - (gpu == slow ? loss : 0));
      gemm.sampling = Sampling();
      gemm.sampling->samples = {seconds, seconds, seconds};
      gemm.cost.flop = 1e12;
      records.push_back(make_record(gemm));
    }
  }
  return peer_checks(environment, records);
}

TEST(HealthTest, ADeviceThatIsUnlikeItsPeersIsNamed) {
  for (const Check& check : peers_of_eight(-1, 0)) {
    EXPECT_EQ(check.status, Status::ok) << check.device << ": " << check.text;
  }
  const std::vector<Check> checks = peers_of_eight(5, 0.2);
  ASSERT_EQ(checks.size(), 8u);
  for (const Check& check : checks) {
    EXPECT_EQ(check.status, check.device == "cuda:5" ? Status::failed : Status::ok) << check.device;
  }
  EXPECT_EQ(checks.front().device, "cuda:5");
  EXPECT_NE(checks.front().text.find("slower than its peers in gemm 3 of 3"), std::string::npos)
      << checks.front().text;
  EXPECT_TRUE(peers_of_eight(0, 0.2, 2).empty());  // neither of two is unlike the other
}

HealthReport report_of(Word word) {
  HealthReport report;
  report.host = "node7";
  report.checks = {ecc_check("cuda:0", good()), clocks_check("cuda:0", std::nullopt)};
  Figure figure{{"copy", "cuda", "duet", {{"kind", std::string("local")}}}, {}};
  figure.verdict.word = word;
  figure.verdict.rate = "gb_per_s";
  figure.verdict.value = 500;
  figure.verdict.expected = 1000;
  report.figures = {figure};
  report.seconds = 12;
  return report;
}

TEST(HealthTest, TheLineSaysWhatIsWrongFirst) {
  EXPECT_EQ(one_line_of(report_of(Word::pass)),
            "duet health: OK node7: 1 figures PASS; ecc 1 ok, clocks 1 unknown; 12 s");
  const HealthReport low = report_of(Word::low);
  EXPECT_EQ(faults(low).size(), 1);
  EXPECT_EQ(one_line_of(low).find("duet health: FAIL node7: copy local (duet on cuda): LOW: 500"),
            0);
  HealthReport many = low;
  for (int i = 0; i < 4; ++i) many.checks.push_back({"device", "cuda", Status::failed, "gone\n"});
  EXPECT_NE(one_line_of(many).find("; 2 more faults; "), std::string::npos);
  EXPECT_EQ(one_line_of(many).find('\n'), std::string::npos);
}

TEST(HealthTest, ABusyNodeIsNotFaulty) {
  HealthReport busy = report_of(Word::busy);
  busy.load = "others used 57% of the CPU, 0% was stolen";
  EXPECT_TRUE(faults(busy).empty());
  EXPECT_EQ(one_line_of(busy),
            "duet health: OK node7: 0 figures PASS, 1 unknown: busy; load: others used 57% of the "
            "CPU, 0% was stolen; ecc 1 ok, clocks 1 unknown; 12 s");
}

TEST(HealthTest, SkippedCasesAreNoFaultsAndWrongOnesAre) {
  HealthReport report = report_of(Word::no_expectation);
  report.missed.push_back({report.figures[0].id, Outcome::skipped, "no engine"});
  EXPECT_TRUE(faults(report).empty());
  report.missed.push_back({report.figures[0].id, Outcome::wrong, "1 byte"});
  EXPECT_EQ(faults(report).size(), 1);
  report.stopped = "not done after 180 s";
  EXPECT_EQ(faults(report).size(), 2);
}

TEST(HealthTest, AnInterruptedRunIsNoFaultOfTheNode) {
  HealthReport report = report_of(Word::pass);
  report.interrupted = true;
  EXPECT_TRUE(faults(report).empty());
  EXPECT_EQ(one_line_of(report).find("duet health: STOPPED node7: interrupted; "), 0);
  report.figures[0].verdict.word = Word::low;
  EXPECT_EQ(one_line_of(report).find("duet health: FAIL node7: "), 0);
}

TEST(HealthTest, SimulatedFiguresAreNoMeasuredOnes) {
  HealthReport report = report_of(Word::pass);
  report.figures.push_back(report.figures[0]);
  report.figures[1].verdict.simulated = true;
  EXPECT_NE(one_line_of(report).find(": 1 figures PASS, 1 simulated figures PASS;"),
            std::string::npos);
  report.figures.erase(report.figures.begin());
  EXPECT_EQ(one_line_of(report).find("duet health: OK node7: 1 simulated figures PASS; "), 0);
  report.figures[0].verdict.word = Word::low;
  EXPECT_NE(faults(report).at(0).find("simulated LOW"), std::string::npos);
}

TEST(HealthTest, PrometheusGetsEachMetricsHeadOnceAndEscapedLabels) {
  HealthReport report = report_of(Word::low);
  report.checks[0].device = "a\"b\\c\nd";
  const std::string text = prometheus_text(report, 1700000000);
  EXPECT_NE(text.find("duet_health_ok 0\n"), std::string::npos);
  EXPECT_NE(text.find("{check=\"ecc\",device=\"a\\\"b\\\\c\\nd\"} 1\n"), std::string::npos);
  EXPECT_EQ(text.find("check=\"clocks\""), std::string::npos);  // not known
  EXPECT_NE(text.find("rate=\"gb_per_s\"} 0.5\n"), std::string::npos);
  EXPECT_EQ(text.find("# TYPE duet_figure gauge"), text.rfind("# TYPE duet_figure gauge"));
  EXPECT_EQ(text.find(kPrometheusHead), 0);
}

}  // namespace
}  // namespace duet
