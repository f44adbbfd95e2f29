#include "fleet/journals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/message_fixture.h"
#include "fleet/report.h"
#include "history/store.h"
#include "results/journal.h"

namespace duet {
namespace {

namespace fs = std::filesystem;

Environment gpu_environment(const std::string& host, int gpus = 2, int hour = 1) {
  Environment environment;
  MachineFacts& machine = environment.machines.emplace_back();
  machine.name = "cuda";
  for (int i = 0; i < gpus; ++i) {
    DeviceInfo& device = machine.devices.emplace_back();
    device.name = "cuda:" + std::to_string(i);
    device.kind = "cuda";
    device.model = "One";
    device.details["driver"] = "580";
  }
  RunFacts& run = environment.run.emplace();
  run.time_utc = "2026-11-21T0" + std::to_string(hour) + ":00:00Z";
  run.host.host_name = host;
  run.host.kernel = "Linux 6.1";
  return environment;
}

// A case that takes a second for its 10^9 bytes, or so much longer.
Record result(const CaseId& id, double seconds = 1) {
  Measurement measurement;
  measurement.id = id;
  measurement.cost.wire_bytes = 1e9;
  measurement.rates = {{"gb_per_s", 1 / seconds}};
  measurement.sampling.emplace();
  measurement.sampling->samples = {seconds, seconds};
  measurement.sampling->mode = "adaptive";
  return make_record(measurement);
}

CaseId gemm(int gpu) {
  return {"gemm", "cuda:" + std::to_string(gpu), "cublas", {{"m", std::int64_t{64}}}};
}

CaseId peer(int from, int to) {
  return {"copy",
          "cuda",
          "duet",
          {{"kind", std::string("peer")},
           {"bytes", std::int64_t{4096}},
           {"source", "cuda:" + std::to_string(from)},
           {"destination", "cuda:" + std::to_string(to)}}};
}

CaseId fabric() { return {"fabric", "cuda:0", "libfabric", {{"operation", std::string("write")}}}; }

class FleetJournals : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "fleetXXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string write(const std::string& name, const Environment& environment,
                    const std::vector<Record>& records, bool ended = true) {
    const std::string path = folder / name;
    std::ofstream file(path);
    file << journal_line(environment);
    for (const Record& record : records) file << journal_line(record);
    if (ended) file << journal_line(RunEnd{"2026-11-21T09:00:00Z", {}});
    return path;
  }

  fs::path folder;
};

// "n1 cuda:0 > n1 cuda:1" for each sample.
std::vector<std::string> places(const FleetSamples& samples) {
  std::vector<std::string> texts;
  for (const FleetSample& one : samples.samples()) {
    std::string& text = texts.emplace_back();
    for (const int unit : samples.places()[static_cast<std::size_t>(one.place)].units) {
      text += (text.empty() ? "" : " > ") + samples.unit_text(unit);
    }
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST_F(FleetJournals, PlacesAreOfDevicesPairsAndNodes) {
  const CaseId whole{"collective", "cuda", "dma", {{"collective", std::string("all_gather")}}};
  const std::string path =
      write("a.jsonl", gpu_environment("n1"), {result(gemm(1)), result(peer(0, 1)), result(whole)});
  const FleetInput input = read_fleet({path}, {});
  EXPECT_EQ(places(input.samples), (Texts{"n1 cuda:1", "n1 cuda:0 > n1 cuda:1", "n1"}));
  EXPECT_EQ(input.samples.figures()[1].kind, "copy peer");
  EXPECT_EQ(input.samples.figures()[1].text, "copy, duet, peer 4 KiB");
  EXPECT_EQ(input.nodes.at(0).settings.at("cuda driver"), "580");
  EXPECT_EQ(input.nodes.at(0).journals, 1);
}

TEST_F(FleetJournals, ARunOverTwoNodesIsOfItsNicsOrNodes) {
  Environment environment = gpu_environment("n1", 1);
  environment.processes = 2;
  environment.run->hosts = {"n1", "n2"};
  Record by_nic = result(fabric());
  by_nic.notes.set("rails", "mlx5_0 (10.0.0.1)");
  Record by_all = result(fabric());
  by_all.id.axes.set("rails", std::int64_t{2});
  by_all.notes.set("rails", "mlx5_0, mlx5_1");
  const std::string path = write("a.jsonl", environment, {by_nic, by_all});
  EXPECT_EQ(places(read_fleet({path}, {}).samples), (Texts{"n1 mlx5_0 > n2 mlx5_0", "n1 > n2"}));
}

TEST_F(FleetJournals, NamesAreThoseOfHostsOrFiles) {
  write("a.jsonl", gpu_environment("same"), {result(gemm(0))});
  write("b.jsonl", gpu_environment("same"), {result(gemm(0))});
  EXPECT_EQ(read_fleet({folder}, {}).samples.nodes(), Texts{"same"});
  EXPECT_EQ(read_fleet({folder}, {NodeNaming::file, {}}).samples.nodes(), (Texts{"a", "b"}));
  Environment nameless = gpu_environment("same");
  nameless.run.reset();
  const std::string path = write("c.jsonl", nameless, {result(gemm(0))});
  EXPECT_EQ(read_fleet({path}, {}).samples.nodes(), Texts{"c"});
}

TEST_F(FleetJournals, OfSeveralJournalsTheMedianOrTheLatestCounts) {
  write("a.jsonl", gpu_environment("n1", 2, 3), {result(gemm(0), 4)});
  write("b.jsonl", gpu_environment("n1", 2, 1), {result(gemm(0), 1)});
  write("c.jsonl", gpu_environment("n1", 2, 2), {result(gemm(0), 2)});
  const auto value = [&](Repeats repeats) {
    const FleetInput input = read_fleet({folder}, {NodeNaming::host, repeats});
    EXPECT_EQ(input.samples.samples().size(), 1u);
    return std::exp(input.samples.samples().at(0).value);
  };
  EXPECT_NEAR(value(Repeats::median), 0.5, 1e-6);
  EXPECT_NEAR(value(Repeats::latest), 0.25, 1e-6);
}

TEST_F(FleetJournals, OneFileMayHoldManyNodes) {
  std::ofstream file(folder / "all.jsonl");
  for (const char* host : {"n1", "n2", "n3"}) {
    file << journal_line(gpu_environment(host)) << journal_line(result(gemm(0)));
  }
  file.close();
  const FleetInput input = read_fleet({folder}, {});
  EXPECT_EQ(input.samples.nodes().size(), 3u);
  EXPECT_EQ(input.samples.samples().size(), 3u);
}

TEST_F(FleetJournals, FaultsAreTold) {
  const Record failed = make_record(gemm(1), Failure{false, "out of memory"});
  for (const char* host : {"n1", "n2", "n3"}) {
    write(std::string(host) + ".jsonl", gpu_environment(host), {result(gemm(0)), result(gemm(1))});
  }
  write("n4.jsonl", gpu_environment("n4"), {result(gemm(0)), failed});
  write("n5.jsonl", gpu_environment("n5"), {result(gemm(0)), result(gemm(1))}, false);
  write("n6.jsonl", gpu_environment("n6"), {});
  std::ofstream(folder / "n7.jsonl") << "no journal\n";
  const FleetReport report = fleet_report(read_fleet({folder}, {}), {}, {"n1", "n8", "n9", "n8"});
  const auto& nodes = report.input.nodes;
  ASSERT_EQ(nodes.size(), 6u);
  EXPECT_FALSE(has_fault(nodes[0]));
  ASSERT_EQ(nodes[3].failed.size(), 1u);
  EXPECT_EQ(nodes[3].failed[0].reason, "out of memory");
  EXPECT_EQ(nodes[3].lacking, 1);
  EXPECT_EQ(nodes[3].lacked, "gemm, cublas, 64 on cuda:1");
  EXPECT_EQ(nodes[4].incomplete.size(), 1u);
  EXPECT_EQ(nodes[5].incomplete.size(), 1u);
  EXPECT_EQ(report.input.broken.size(), 1u);
  EXPECT_EQ(report.missing, (Texts{"n8", "n9"}));
  EXPECT_EQ(findings(report), 3 + 1 + 2);
  EXPECT_EQ(fleet_line(report),
            "duet fleet: FAIL: 6 nodes: 2 missing nodes, 3 nodes with failed or incomplete cases, "
            "1 journal that cannot be read");
}

TEST_F(FleetJournals, AResumedCaseThatFailedFirstIsNoFault) {
  std::ofstream file(folder / "a.jsonl");
  file << journal_line(gpu_environment("n1"))
       << journal_line(make_record(gemm(0), Failure{false, "busy"}))
       << journal_line(gpu_environment("n1")) << journal_line(result(gemm(0)));
  file.close();
  const FleetInput input = read_fleet({folder}, {});
  EXPECT_FALSE(has_fault(input.nodes.at(0)));
  EXPECT_EQ(input.samples.samples().size(), 1u);
}

TEST_F(FleetJournals, AStoreIsReadAsItsJournals) {
  Texts paths;
  for (const char* host : {"n1", "n2", "n3"}) {
    paths.push_back(write(std::string(host) + ".jsonl", gpu_environment(host),
                          {result(gemm(0)), result(peer(0, 1), 2)}));
  }
  const std::string path = folder / "store.sqlite";
  try {
    Store store(path);
    for (const std::string& each : paths) store.add(load_journal(each), "");
  } catch (const Unavailable& error) {
    GTEST_SKIP() << error.what();
  }
  const FleetInput input = read_fleet({path}, {});
  const FleetInput same = read_fleet(paths, {});
  EXPECT_EQ(input.samples.nodes(), same.samples.nodes());
  EXPECT_EQ(input.samples.samples().size(), 6u);
  EXPECT_EQ(input.nodes[1].settings, same.nodes[1].settings);
  auto sorted = [](Texts texts) {
    std::sort(texts.begin(), texts.end());
    return texts;
  };
  EXPECT_EQ(sorted(places(input.samples)), sorted(places(same.samples)));
}

TEST_F(FleetJournals, WhatCannotBeReadIsRefused) {
  EXPECT_NE(message_of<UsageError>([&] { read_fleet({folder / "none.jsonl"}, {}); }), "");
  EXPECT_NE(message_of<UsageError>([&] { read_fleet({folder}, {}); }), "") << "an empty folder";
  std::ofstream(folder / "a.jsonl") << "no journal\n";
  EXPECT_NE(message_of<UsageError>([&] { read_fleet({folder}, {}); }), "");
}

TEST_F(FleetJournals, ASlowGpuIsTold) {
  for (int node = 0; node < 6; ++node) {
    const std::string host = "n" + std::to_string(node);
    std::vector<Record> records;
    for (int gpu = 0; gpu < 2; ++gpu) {
      const bool slow = node == 4 && gpu == 1;
      records.push_back(result(gemm(gpu), (slow ? 1.5 : 1) * (1 + 0.001 * node)));
    }
    Environment environment = gpu_environment(host);
    if (node == 4) environment.run->host.kernel = "Linux 5.15";
    write(host + ".jsonl", environment, records);
  }
  const FleetReport report = fleet_report(read_fleet({folder}, {}), {}, {});
  const std::string text = fleet_text(report, 20);
  EXPECT_NE(text.find("n4 cuda:1"), std::string::npos) << text;
  EXPECT_NE(text.find("-33"), std::string::npos) << text;
  EXPECT_NE(text.find("duet health --device cuda:1 --verbose"), std::string::npos) << text;
  const Json json = fleet_json(report);
  EXPECT_EQ(json["suspects"].size(), 1u);
  EXPECT_EQ(json["suspects"][0]["place"], "n4 cuda:1");
  EXPECT_EQ(json["findings"], 1);
  const std::string metrics = fleet_prometheus(report, 1);
  EXPECT_EQ(metrics.rfind(kFleetPrometheusHead, 0), 0u);
  EXPECT_NE(metrics.find("duet_fleet_ok 0\n"), std::string::npos);
  EXPECT_NE(metrics.find("duet_fleet_suspect_loss_ratio{place=\"n4 cuda:1\""), std::string::npos);
}

}  // namespace
}  // namespace duet
