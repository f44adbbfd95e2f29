#include "importing/import.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/message_fixture.h"
#include "results/record_json.h"

namespace duet {
namespace {

using std::string_literals::operator""s;

std::string text_of(const std::string& name) {
  std::ifstream file(std::string(DUET_FOREIGN) + "/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

JournalRun import(const std::string& name, const ImportOptions& options = {}) {
  return import_run(name, text_of(name), options);
}

std::string complaint(const std::string& text, const ImportOptions& options = {}) {
  return message_of<UsageError>([&] { import_run("x", text, options); });
}

std::string replaced(std::string text, const std::string& part, const std::string& by) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), by);
}

// The text up to the line that has `part`, and that line.
std::string until(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.substr(0, at == 0 ? 0 : text.rfind('\n', at - 1) + 1);
}

std::string line_with(const std::string& text, const std::string& part) {
  const std::size_t begin = until(text, part).size();
  return text.substr(begin, text.find('\n', begin) + 1 - begin);
}

bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

std::string journal_of(const JournalRun& run) {
  std::string journal = journal_line(run.environment);
  for (const Record& record : run.results) journal += journal_line(record);
  return journal;
}

double median(const Record& record) { return record.seconds.median; }

TEST(ImportNcclTests, TellsDevicesLibraryAndThatItWasImported) {
  const Environment environment = import("all_reduce.txt").environment;
  EXPECT_EQ(environment.imported.value("tool"), "nccl-tests");
  EXPECT_EQ(environment.imported.value("version"), "2.17.6");
  EXPECT_EQ(environment.imported.value("form"), "text");
  EXPECT_EQ(environment.imported.value("file"), "all_reduce.txt");
  EXPECT_EQ(environment.run->libraries.value("NCCL"), "2.28.9");
  EXPECT_EQ(environment.run->host.host_name, "node-1");
  const Json machine = to_json(environment)["machines"][0];
  EXPECT_EQ(machine["name"], "cuda");
  ASSERT_EQ(machine["devices"].size(), 4);
  EXPECT_EQ(
      machine["devices"][3],
      (Json{
          {"name", "cuda:3"}, {"kind", "cuda"}, {"model", "NVIDIA H200"}, {"bus", "0000:5d:00"}}));
}

TEST(ImportNcclTests, HasTheAxesOfACollective) {
  const JournalRun run = import("all_reduce.txt");
  ASSERT_EQ(run.results.size(), 6);
  const Record& one = run.results[1];
  EXPECT_EQ(one.id.benchmark, "collective");
  EXPECT_EQ(one.id.device, "cuda");
  EXPECT_EQ(one.id.engine, "nccl-tests");
  EXPECT_EQ(one.id.axes, (Axes{{"collective", "all_reduce"s},
                               {"type", "fp32"s},
                               {"op", "sum"s},
                               {"bytes", std::int64_t{1048576}},
                               {"in_place", true},
                               {"ranks", std::int64_t{4}}}));
  EXPECT_DOUBLE_EQ(median(one), 25.5e-6);
  EXPECT_NEAR(one.rates.value("busbw_gb_per_s"), 61.68, 0.01);
  EXPECT_NEAR(one.rates.value("algbw_gb_per_s"), 41.12, 0.01);
  EXPECT_EQ(one.verified, true);
  EXPECT_EQ(one.warm_ups, 1);
  EXPECT_EQ(one.notes.value("mean_of_calls"), "20");
}

TEST(ImportNcclTests, LeavesOutWhatIsNotKnown) {
  ImportOptions options;
  options.collective = "all_gather";
  const JournalRun run = import("all_gather_old.txt", options);
  const Json one = to_json(run.results[0]), environment = to_json(run.environment);
  for (const char* field : {"samples", "telemetry", "load"}) EXPECT_FALSE(one.contains(field));
  EXPECT_FALSE(one["seconds"].contains("stopped_by"));
  EXPECT_EQ(one["seconds"]["n"], 1);
  EXPECT_EQ(one["verified"], false);
  EXPECT_EQ(one["warnings"].size(), 1);
  EXPECT_EQ(one["notes"]["largest_error"], "2e-07");  // and not a number of wrong elements
  EXPECT_EQ(run.results[0].outcome, Outcome::measured);
  EXPECT_FALSE(environment["imported"].contains("version"));
  EXPECT_FALSE(environment["run"].contains("libraries"));
}

TEST(ImportNcclTests, AsksForACollectiveThatIsNotNamed) {
  EXPECT_TRUE(contains(complaint(text_of("all_gather_old.txt")), "--collective"));
  ImportOptions options;
  options.collective = "all_of_it";
  EXPECT_TRUE(contains(complaint(text_of("all_gather_old.txt"), options), "unknown collective"));
}

TEST(ImportNcclTests, SeveralHostsAreThoseOfTheFirstAndWrongDataAreWrong) {
  const JournalRun run = import("two_nodes.txt");
  EXPECT_EQ(run.environment.processes, 4);
  EXPECT_EQ(run.environment.machines[0].devices.size(), 2);
  EXPECT_EQ(run.results[0].outcome, Outcome::wrong);
  EXPECT_EQ(run.results[0].reason, "3 elements are wrong");
  EXPECT_EQ(run.results[1].outcome, Outcome::measured);
  EXPECT_EQ(axis_number(run.results[1].id, "graph_launches"), 4);
  EXPECT_EQ(axis_word(run.results[1].id, "op"), "");
}

TEST(ImportNcclTests, ReadsItsJson) {
  const JournalRun run = import("reduce_scatter.json");
  ASSERT_EQ(run.results.size(), 2);
  EXPECT_EQ(run.environment.imported.value("form"), "JSON");
  EXPECT_EQ(run.environment.run->command,
            "./build/reduce_scatter_perf -b 16M -e 16M -g 2 -d bfloat16 -J out.json");
  EXPECT_EQ(axis_number(run.results[0].id, "ranks"), 2);
  EXPECT_EQ(axis_word(run.results[0].id, "type"), "bf16");
  EXPECT_EQ(run.results[0].verified, true);
  EXPECT_EQ(run.results[1].verified, false);
  EXPECT_NEAR(run.results[0].rates.value("busbw_gb_per_s"), 104.8576, 1e-6);
}

TEST(ImportNcclTests, LeavesOutFiguresOfSingleCalls) {
  const JournalRun text = import("all_gather_per_call.txt");
  ASSERT_EQ(text.results.size(), 4);
  EXPECT_DOUBLE_EQ(median(text.results[1]), 20.25e-6);
  EXPECT_EQ(text.results[1].verified, true);
  const JournalRun json = import("all_reduce.json");
  ASSERT_EQ(json.results.size(), 2);
  EXPECT_DOUBLE_EQ(median(json.results[1]), 82e-6);
  EXPECT_EQ(json.results[1].seconds.n, 1);
}

TEST(ImportNcclTests, RcclTestsAreOfHip) {
  const JournalRun run = import("rccl.txt");
  EXPECT_EQ(run.results[0].id.engine, "rccl-tests");
  EXPECT_EQ(run.results[0].id.device, "hip");
  EXPECT_EQ(run.environment.run->libraries.value("RCCL"), "2.27.7");
}

TEST(ImportNcclTests, AllVersionsOfRcclTestsAreOfHip) {
  ImportOptions options;
  options.collective = "all_gather";
  for (const char* name : {"rccl_2020.txt", "rccl_2024.txt", "rccl_events.txt", "rccl.json"}) {
    const JournalRun run = import(name, options);
    EXPECT_EQ(run.environment.imported.value("tool"), "rccl-tests") << name;
    EXPECT_EQ(run.results[0].id.engine, "rccl-tests") << name;
    EXPECT_EQ(run.results[0].id.device, "hip") << name;
    EXPECT_EQ(run.environment.machines[0].devices[0].kind, "hip") << name;
  }
  EXPECT_EQ(import("rccl_2024.txt", options).environment.imported.value("version"),
            "develop:448c4c7");
  EXPECT_EQ(import("rccl_2020.txt", options).results[0].warm_ups, 5);
  EXPECT_EQ(import("rccl_2020.txt", options).results[0].notes.value("mean_of_calls"), "20");
  EXPECT_EQ(import("rccl.json").environment.run->libraries.value("RCCL"), "2.27.7");
  // Those of 2022 and 2023 print what nccl-tests prints; their devices tell.
  const std::string nameless = replaced(text_of("rccl.txt"), "# rccl-tests", "#");
  EXPECT_EQ(import_run("x", nameless, {}).results[0].id.device, "hip");
}

TEST(ImportNcclTests, OneGroupOfFiguresIsInPlaceOrOut) {
  ImportOptions options;
  options.collective = "all_gather";
  const JournalRun in = import("rccl_2024.txt", options);
  ASSERT_EQ(in.results.size(), 2);
  EXPECT_EQ(axis_true(in.results[0].id, "in_place"), true);
  EXPECT_DOUBLE_EQ(median(in.results[0]), 18.2e-6);
  const std::string other = replaced(text_of("rccl_2024.txt"), "  in-place ", "out-of-place ");
  EXPECT_EQ(import_run("x", other, options).results[0].id.axes.flag("in_place"), false);
  const std::string unnamed = replaced(text_of("rccl_2024.txt"), "in-place", "        ");
  EXPECT_TRUE(says(complaint(unnamed, options), "x:9: expected the columns size"));
  ASSERT_EQ(import("rccl.json").results.size(), 1);
  EXPECT_EQ(axis_true(import("rccl.json").results[0].id, "in_place"), true);
}

TEST(ImportNcclTests, AnErrorThatRcclTestsMarksIsWrongData) {
  ImportOptions options;
  options.collective = "all_gather";
  const std::string marked = replaced(text_of("rccl_2020.txt"), "10.28  0e+00", "10.28  3e-01*");
  const JournalRun run = import_run("x", marked, options);
  EXPECT_EQ(run.results[0].outcome, Outcome::measured);
  EXPECT_EQ(run.results[1].outcome, Outcome::wrong);
}

TEST(ImportNcclTests, RanksAreThoseOfOneCommunicator) {
  for (const char* name : {"all_reduce_groups.txt", "all_reduce_groups.json"}) {
    const JournalRun run = import(name);
    EXPECT_EQ(axis_number(run.results[0].id, "ranks"), 2) << name;
    EXPECT_EQ(axis_number(run.results[0].id, "groups"), 2) << name;
    EXPECT_EQ(run.environment.processes, 4) << name;
    const ByName<double>& rates = run.results[0].rates;
    EXPECT_NEAR(rates.value("busbw_gb_per_s"), rates.value("algbw_gb_per_s"), 1e-6);
  }
  EXPECT_EQ(import("all_reduce.txt").results[0].id.axes.find("groups"), nullptr);
}

TEST(ImportNcclTests, BusBandwidthIsThatWhichIsPrinted) {
  const std::string text = text_of("all_reduce.txt");
  EXPECT_EQ(complaint(replaced(text, "  4500.0 ", "  9000.0 ")),
            "x:18: busbw is 179 GB/s by the size, the time of 9000 us and 4 ranks, but the output "
            "says 357.91: expected the same");
  EXPECT_TRUE(says(complaint(replaced(text, "Rank  3 Group  0", "Rank  3 Group  1")),
                   "x:16: busbw is 55.92 GB/s by the size, the time of 25 us and 3 ranks"));
  EXPECT_EQ(complaint(replaced(text, "62.91", "62.92")), "");  // 62.9146 of 25.00, 62.92 of 24.998
  EXPECT_TRUE(says(complaint(replaced(text, "62.91", "62.95")), "but the output says 62.95"));
  const std::string json = text_of("reduce_scatter.json");
  EXPECT_TRUE(
      says(complaint(replaced(json, "104.857600", "78.290000")),
           "x: results[0]: busbw is 104.9 GB/s by the size, the time of 80 us and 2 ranks"));
}

TEST(ImportNcclTests, TakesTimesOfFewDigitsFromTheRates) {
  std::string text = text_of("all_reduce.txt");
  text = replaced(text, line_with(text, " 1073741824   "),
                  " 17179869184    4294967296     float     sum      -1  1.1e+07    1.61    2.42   "
                  "    0  1.1e+07    1.61    2.42       0\n");
  const JournalRun run = import_run("x", text, {});
  EXPECT_NEAR(run.results[4].rates.value("algbw_gb_per_s"), 1.61, 0.005);
  EXPECT_NEAR(run.results[4].rates.value("busbw_gb_per_s"), 2.42, 0.005);
  EXPECT_NEAR(median(run.results[5]), 10.65, 0.01);
  text = replaced(text, "1.1e+07    1.61    2.42", "1.1e+07    1.81    2.72");
  EXPECT_TRUE(says(complaint(text), "x:18: busbw is 2.343 GB/s"));
}

TEST(ImportNcclTests, RatesOfTheCpusTimeAreNotes) {
  std::string text = text_of("rccl.txt");
  for (int i = 0; i < 2; ++i) text = replaced(text, "    time ", " cputime ");
  text = replaced(text, "18.00", " 2.50");
  const Record one = import_run("x", text, {}).results[0];
  EXPECT_DOUBLE_EQ(median(one), 2.5e-6);
  EXPECT_EQ(axis_word(one.id, "clock"), "cpu");
  EXPECT_FALSE(one.rates.contains("busbw_gb_per_s"));
  EXPECT_EQ(one.notes.value("busbw_gb_per_s"), "1.82");
}

TEST(ImportNcclTests, RefusesWhatIsNotWhole) {
  const std::string text = text_of("all_reduce.txt");
  EXPECT_EQ(complaint(until(text, " 33554432 ")),
            "x:16: the table of float sum has 1 of 3 sizes: expected all of them");
  EXPECT_TRUE(
      says(complaint(until(text, " 1048576   ")), "x:4: no row of the run that begins here"));
  EXPECT_TRUE(says(complaint(replaced(text, line_with(text, " 33554432 "), "")),
                   "x:17: the table of float sum has 2 of 3 sizes"));
  // Without the lines below it, a table that has all its sizes is whole.
  EXPECT_EQ(complaint(until(text, "# Out of bounds")), "");
  // But not if there may be other tables, or if the sizes are not told.
  const std::string half =
      replaced(text, "1073741824     268435456     float", "1073741824     268435456      half");
  EXPECT_TRUE(says(complaint(until(half, "# Out of bounds")),
                   "x:18: the run's last row, without \"# Avg bus bandwidth\" below"));
  EXPECT_TRUE(says(complaint(half), "x:18: the table of"));
  const std::string failed = replaced(
      text, "    33554432  ", "all_reduce_perf: x.cc:3: f: Assertion `x' failed.\n    33554432  ");
  EXPECT_EQ(complaint(failed),
            "x:17: a program failed: \"all_reduce_perf: x.cc:3: f: Assertion `x' failed.\": "
            "expected the output of a whole run");
}

TEST(ImportNcclTests, RefusesWhatIsNotOneRun) {
  const std::string text = text_of("all_reduce.txt");
  EXPECT_EQ(
      complaint(text + text),
      "x:39: the case of line 16 stands again in line 39: expected each case once, from one run; "
      "import repeated runs one by one");
  const std::string row =
      "     1048576        262144     float     sum      -1    25.00   41.94   62.91       0    "
      "25.50   41.12   61.68       0\n";
  EXPECT_TRUE(says(complaint(replaced(text, "# Out of", "# Testing 2 cycle.\n" + row + "# Out of")),
                   "x:20: the case of line 16 stands again in line 20"));
  EXPECT_TRUE(says(complaint(text + row), "x:24: a row without the heads of its columns"));
  EXPECT_TRUE(
      says(complaint(replaced(text, "  Rank  2", "  Rank  0")), "x:9: rank 0: expected rank 2"));
  const std::string options = line_with(text, "# nThread");
  EXPECT_TRUE(says(complaint(replaced(text, "# Using devices", options + "# Using devices")),
                   "x:6: a run begins before that above is whole (line 4: no row"));
  const std::string heads = line_with(text, "#       size");
  EXPECT_TRUE(says(complaint(replaced(text, "#        (B)", heads + "#        (B)")),
                   "x:15: the heads of the columns a second time"));
  EXPECT_TRUE(says(complaint(replaced(text, "concluded: all_reduce", "concluded: all_gather")),
                   "x:22: all_gather ends here, but all_reduce began"));
  EXPECT_TRUE(says(complaint(replaced(text, "starting: all_reduce", "starting: all_reduce_bias")),
                   "x:3: all_reduce_bias_perf: expected a program of a collective"));
  // Whole runs of other cases behind each other are taken.
  std::string other = replaced(replaced(text, "all_reduce_perf -b", "broadcast_perf -b"),
                               "starting: all_reduce", "starting: broadcast");
  other = replaced(other, "concluded: all_reduce", "concluded: broadcast");
  other = replaced(replaced(other, "62.91", "41.94"), "61.68", "41.12");
  other = replaced(replaced(other, "279.62", "186.41"), "278.07", "185.38");
  other = replaced(replaced(other, "357.91", "238.61"), "357.12", "238.08");
  EXPECT_EQ(import_run("x", text + other, {}).results.size(), 12);
}

TEST(ImportNcclTests, RefusesJsonThatIsNotWholeOrNotOneRun) {
  const std::string text = text_of("all_reduce_groups.json");
  EXPECT_TRUE(
      says(complaint(replaced(text, "\"out_of_bounds\"", "\"x\"")), "ended before its last row"));
  EXPECT_TRUE(says(complaint(replaced(text, "\"actual_iterations\"", "\"x\"")),
                   "x: results[0]: a row that is not"));
  EXPECT_TRUE(says(complaint(replaced(text, "\"rank\":2", "\"rank\":0")),
                   "x: devices[2]: expected rank 2"));
  const std::string row =
      text.substr(text.find("{\"size\""), text.find("],\"out_of_b") - text.find("{\"size\""));
  EXPECT_TRUE(says(complaint(replaced(text, row, row + "," + row)),
                   "x: results[1]: the case of results[0] stands again in results[1]"));
}

TEST(ImportNcclTests, LeavesOutSizesThatAreTooSmall) {
  ImportOptions options;
  options.collective = "all_gather";
  const std::string zero =
      "           0             0    float     0.15    0.00    0.00  0e+00     0.14    0.00    "
      "0.00    N/A\n";
  const std::string text = replaced(text_of("all_gather_old.txt"), "     1048576        131072",
                                    zero + zero + "     1048576        131072");
  EXPECT_EQ(import_run("x", text, options).results.size(), 2);
}

TEST(ImportNvbandwidth, CopiesThatDuetMeasuresTooHaveItsAxes) {
  ImportOptions options;
  options.bytes = 536870912;
  const JournalRun run = import("nvbandwidth.txt", options);
  EXPECT_EQ(run.environment.machines[0].devices[1].model, "NVIDIA H200");
  EXPECT_EQ(run.environment.machines[0].devices[1].bus, "00000000:2a:00");
  const Record& peer = run.results[2];
  EXPECT_EQ(peer.id.benchmark, "copy");
  EXPECT_EQ(peer.id.axes, (Axes{{"kind", "peer"s},
                                {"executor", "dma"s},
                                {"issue", "pull"s},
                                {"pattern", "pair"s},
                                {"bytes", std::int64_t{536870912}},
                                {"source", "cuda:1"s},
                                {"destination", "cuda:0"s},
                                {"bidirectional", false}}));
  EXPECT_NEAR(peer.rates.value("gb_per_s"), 390.1, 1e-6);
  EXPECT_NEAR(median(peer), 536870912 / 390.1e9, 1e-9);
  EXPECT_EQ(axis_word(run.results[0].id, "source"), "pinned");
}

TEST(ImportNvbandwidth, WithoutASizeTheSecondsAreOfAGigabyte) {
  const JournalRun run = import("nvbandwidth.txt");
  EXPECT_EQ(run.results[2].id.axes.find("bytes"), nullptr);
  EXPECT_NEAR(run.results[2].rates.value("gb_per_s"), 390.1, 1e-6);
  EXPECT_NEAR(median(run.results[2]), 1 / 390.1, 1e-9);
  EXPECT_EQ(run.results[2].notes.value("seconds"), "of 10^9 bytes: the size is not known");
}

TEST(ImportNvbandwidth, OtherTestsKeepTheirNames) {
  const JournalRun run = import("nvbandwidth.txt");
  ASSERT_EQ(run.results.size(), 11);
  EXPECT_EQ(run.results[4].id.benchmark, "nvbandwidth");
  EXPECT_EQ(axis_word(run.results[4].id, "test"),
            "device_to_device_bidirectional_memcpy_read_ce_read1");
  EXPECT_EQ(axis_word(run.results[6].id, "test"),
            "device_to_device_bidirectional_memcpy_read_ce_total");
  EXPECT_DOUBLE_EQ(median(run.results[8]), 650e-9);
  EXPECT_EQ(run.results[10].outcome, Outcome::skipped);
  EXPECT_EQ(run.results[10].reason, "the test needs MPI");
}

TEST(ImportNvbandwidth, ReadsVersion0_10AndKnowsWhereWritesGo) {
  const JournalRun run = import("nvbandwidth_new.txt");
  ASSERT_EQ(run.results.size(), 6);
  EXPECT_EQ(run.environment.imported.value("version"), "v0.10.0");
  EXPECT_EQ(axis_word(run.results[1].id, "kind"), "device_to_host");
  EXPECT_EQ(axis_word(run.results[1].id, "source"), "cuda:1");
  EXPECT_EQ(axis_word(run.results[1].id, "destination"), "pinned");
  EXPECT_EQ(axis_word(run.results[2].id, "issue"), "push");
  EXPECT_EQ(axis_word(run.results[2].id, "source"), "cuda:0");
  EXPECT_EQ(axis_word(run.results[2].id, "destination"), "cuda:1");
  EXPECT_NEAR(run.results[2].rates.value("gb_per_s"), 392.5, 1e-6);
  EXPECT_EQ(axis_word(run.results[4].id, "test"), "device_to_device_memcpy_read_tma");
}

TEST(ImportNvbandwidth, ReadsItsJson) {
  const JournalRun run = import("nvbandwidth.json");
  ASSERT_EQ(run.results.size(), 4);
  EXPECT_EQ(run.environment.machines[0].name, "nvbandwidth");
  EXPECT_TRUE(run.environment.machines[0].devices.empty());
  EXPECT_EQ(axis_word(run.results[0].id, "issue"), "push");
  EXPECT_EQ(axis_word(run.results[0].id, "destination"), "cuda:1");
  EXPECT_EQ(run.results[2].outcome, Outcome::skipped);
  EXPECT_EQ(run.results[3].outcome, Outcome::failed);
  EXPECT_EQ(run.results[3].reason, "out of memory");
}

TEST(ImportNvbandwidth, ReadsMatricesOfAllDescriptions) {
  const JournalRun run = import("nvbandwidth_more.txt");
  ASSERT_EQ(run.results.size(), 10);
  EXPECT_EQ(run.environment.run->host.host_name, "node-1");
  EXPECT_EQ(run.results[2].reason, "nvbandwidth says: Waived");
  EXPECT_EQ(axis_word(run.results[2].id, "test"), "waived test 1");
  EXPECT_EQ(axis_word(run.results[3].id, "test"), "device_local_copy");
  EXPECT_NEAR(run.results[4].rates.value("gb_per_s"), 1421, 1e-6);
  EXPECT_EQ(axis_word(run.results[6].id, "test"), "multinode_bisect_write_ce");
  EXPECT_EQ(axis_number(run.results[6].id, "row"), 1);
  EXPECT_NEAR(run.results[6].rates.value("gb_per_s"), 45.2, 1e-6);
}

TEST(ImportNvbandwidth, WhatIsNotNamedIsNotOfTheTestBefore) {
  const JournalRun run = import("nvbandwidth_more.txt");
  ASSERT_EQ(run.results.size(), 10);
  EXPECT_EQ(run.results[7].outcome, Outcome::skipped);
  EXPECT_EQ(axis_word(run.results[7].id, "test"), "waived test 2");
  EXPECT_EQ(run.results[8].outcome, Outcome::failed);
  EXPECT_EQ(axis_word(run.results[8].id, "test"), "xyz");
  EXPECT_EQ(run.results[8].reason, "Testcase xyz not found!");
  EXPECT_EQ(axis_word(run.results[9].id, "test"), "index 99");
  const JournalRun old = import("nvbandwidth_old.txt");
  ASSERT_EQ(old.results.size(), 3);
  EXPECT_EQ(axis_word(old.results[2].id, "test"), "all_to_one_read_ce");
  EXPECT_EQ(old.results[2].outcome, Outcome::skipped);
}

TEST(ImportNvbandwidth, TextAndJsonNameOneMachineAlike) {
  const Json text = to_json(import("nvbandwidth_more.txt").environment),
             json = to_json(import("nvbandwidth_devices.json").environment);
  EXPECT_EQ(json["machines"], text["machines"]);
  EXPECT_EQ(json["run"]["host"], text["run"]["host"]);
  EXPECT_EQ(json["machines"][0]["devices"][1], (Json{{"name", "cuda:1"},
                                                     {"kind", "cuda"},
                                                     {"model", "NVIDIA H100 80GB HBM3"},
                                                     {"bus", "00000000:2a:00"}}));
}

TEST(ImportNvbandwidth, TakesTheDevicesOfProcesses) {
  const std::string text =
      replaced(text_of("nvbandwidth_more.txt"), "node-1\nDevice 0", "Process 0 (node-1): device 0");
  const Environment environment =
      import_run("x", replaced(text, "Device 1:", "Process 1 (node-2): device 1:"), {}).environment;
  EXPECT_EQ(environment.processes, 2);
  EXPECT_EQ(environment.run->host.host_name, "node-1");
  ASSERT_EQ(environment.machines[0].devices.size(), 1);
  EXPECT_EQ(environment.machines[0].devices[0].bus, "00000000:18:00");
}

TEST(ImportNvbandwidth, RefusesWhatIsNotWhole) {
  const std::string text = text_of("nvbandwidth.txt");
  EXPECT_EQ(complaint(until(text, " 1    391.20")),
            "x:19: the matrix of device_to_device_memcpy_read_ce (line 21) is not whole: expected "
            "\"SUM\" and its name below it");
  EXPECT_TRUE(says(complaint(replaced(text, " 1    391.20       N/A\n", "")),
                   "x:24: the figures of device_to_device_memcpy_read_ce add up to 390.1, but the "
                   "output says 781.3"));
  EXPECT_TRUE(says(complaint(replaced(text, "SUM host_to_device_memcpy_ce 110.50\n", "")),
                   "x:18: the matrix of host_to_device_memcpy_ce (line 14) is not whole"));
  EXPECT_TRUE(says(complaint(until(text, "memcpy CE GPU(row) -> GPU(column)")),
                   "x:19: device_to_device_memcpy_read_ce (line 19) has no figures"));
  EXPECT_TRUE(says(complaint(replaced(text, "55.30", "55.x0")), "here is '55.x0'"));
  EXPECT_TRUE(says(
      complaint(replaced(text, " 1    391.20", "x: y.cpp:3: Assertion `z' failed.\n 1    391.20")),
      "x:23: a program failed"));
  EXPECT_TRUE(says(complaint(text + text), "x:67: the case of line 15 stands again in line 65"));
  const std::string other = text_of("nvbandwidth_more.txt");
  EXPECT_TRUE(says(complaint(text + other), "x:59: a run of another version or on other devices"));
  const std::string later = until(other, "Running host_to") +
                            "Running multinode_all_to_one_sm.\n"
                            "memcpy SM All Gpus -> GPU(column) total bandwidth (GB/s)\n"
                            "           0\n 0      1.00\n\nSUM multinode_all_to_one_sm 1.00\n";
  EXPECT_EQ(import_run("x", other + later, {}).results.size(), 11);
  EXPECT_TRUE(says(complaint(other + replaced(later, "(00000000:2a:00)", "(00000000:2b:00)")),
                   "on other devices"));
  EXPECT_TRUE(says(complaint(other + replaced(later, "node-1", "node-2")), "on other devices"));
  const std::string json = text_of("nvbandwidth.json");
  EXPECT_TRUE(says(complaint(replaced(json, "721.75", "1082.25")),
                   "add up to 721.75, but the output says 1082.25"));
  EXPECT_TRUE(says(complaint(replaced(json, ", \"N/A\" ]", " ]")), "has rows of 2 and 1 figures"));
  EXPECT_TRUE(says(complaint(replaced(json, "\"Waived\"", "\"Running\"")),
                   "x: testcases[1]: multinode_bisect_write_ce had not ended"));
  EXPECT_TRUE(says(complaint(replaced(json, "\"git_version\"", "\"error\"")),
                   "x: nvbandwidth failed: v0.8"));
  EXPECT_TRUE(says(complaint(replaced(json, "bandwidth_matrix", "x")),
                   "no figures of device_to_device_memcpy_write_sm"));
}

TEST(ImportOsu, ReadsLatencyAndValidation) {
  const JournalRun run = import("osu_allreduce.txt");
  ASSERT_EQ(run.results.size(), 2);
  EXPECT_EQ(run.environment.imported.value("version"), "7.5");
  EXPECT_EQ(run.results[0].id.axes, (Axes{{"test", "MPI-CUDA Allreduce Latency"s},
                                          {"type", "MPI_INT"s},
                                          {"bytes", std::int64_t{4}}}));
  EXPECT_DOUBLE_EQ(median(run.results[0]), 11.69e-6);
  EXPECT_EQ(run.results[0].verified, true);
  EXPECT_EQ(run.results[0].notes.value("Max Latency(us)"), "12.00");
  EXPECT_EQ(run.results[1].outcome, Outcome::wrong);
}

TEST(ImportOsu, ReadsBandwidth) {
  const JournalRun run = import("osu_bw.txt");
  EXPECT_EQ(run.results[0].outcome, Outcome::skipped);
  EXPECT_NEAR(run.results[2].rates.value("gb_per_s"), 24.0, 1e-6);
}

TEST(ImportOsu, ReadsWhatItPrintedInRuns) {
  EXPECT_EQ(import("osu_ran_put_bw.txt").results[0].id.axes,
            (Axes{{"test", "MPI_Put Bandwidth"s},
                  {"window", "MPI_Win_allocate"s},
                  {"synchronization", "MPI_Win_flush"s},
                  {"bytes", std::int64_t{1}}}));
  const Record rates = import("osu_ran_mbw_mr.txt").results[0];
  EXPECT_EQ(axis_word(rates.id, "pairs"), "1");
  EXPECT_TRUE(rates.notes.contains("Messages/s"));
  const Record overlapped = import("osu_ran_ialltoall.txt").results[0];
  EXPECT_DOUBLE_EQ(median(overlapped), 1.4e-6);
  EXPECT_TRUE(overlapped.notes.contains("Overlap(%)"));
  const JournalRun barrier = import("osu_ran_barrier.txt");
  ASSERT_EQ(barrier.results.size(), 1);
  EXPECT_EQ(barrier.results[0].id.axes.find("bytes"), nullptr);
  EXPECT_EQ(barrier.results[0].notes.value("Iterations"), "100");
  EXPECT_DOUBLE_EQ(median(import("osu_ran_allreduce.txt").results[0]), 0.42e-6);
}

TEST(ImportOsu, ConditionsBelowATableAreThoseOfTheNext) {
  const JournalRun run = import("osu_types.txt");
  ASSERT_EQ(run.results.size(), 6);
  EXPECT_EQ(axis_word(run.results[0].id, "type"), "MPI_CHAR");
  EXPECT_EQ(axis_word(run.results[2].id, "type"), "MPI_INT");
  EXPECT_EQ(run.results[4].id.axes, (Axes{{"test", "MPI-CUDA Bandwidth"s},
                                          {"type", "MPI_CHAR"s},
                                          {"source", "DEVICE"s},
                                          {"destination", "HOST"s},
                                          {"bytes", std::int64_t{1}}}));
  EXPECT_EQ(run.results[4].notes.value("P99 Tail BW(MB/s)"), "1.20");
}

TEST(ImportOsu, RefusesWhatIsNotWholeOrNotOneRun) {
  const std::string text = text_of("osu_bw.txt");
  EXPECT_EQ(complaint(text.substr(0, text.size() - 2)),
            "x:6: '24000.0' is cut: expected as many decimals as above below \"Bandwidth (MB/s)\"");
  EXPECT_TRUE(says(complaint(until(text, "1     ")), "x:3: no row below the heads of line 3"));
  EXPECT_TRUE(says(complaint(text + text), "x:10: the case of line 4 stands again in line 10"));
  const std::string full = text_of("osu_allreduce.txt");
  EXPECT_TRUE(
      says(complaint(full.substr(0, full.size() - 3)), "x:7: expected Pass or Fail, here is 'Fa'"));
  EXPECT_TRUE(says(complaint(replaced(text, "1024  ", "[a.c:7] MPI call failed with 16\n1024  ")),
                   "x:5: a program failed"));
}

TEST(ImportTransferBench, RefusesWhatIsNotWholeOrNotOneRun) {
  const std::string text = text_of("transferbench.txt");
  EXPECT_EQ(complaint(until(text, " Executor: DMA 01")),
            "x:11: the table of test 2 (line 11) is not whole: expected \"Aggregate\" at its end");
  EXPECT_TRUE(says(complaint(until(text, " Aggregate (CPU)  |  115") + "Test 3:\n"),
                   "x:16: the table of test 2 (line 11) is not whole"));
  EXPECT_TRUE(
      says(complaint(replaced(text, "     Transfer 01 ", "     Other    01 ")),
           "x:16: the transfers of test 2 move 60000000 bytes, but the output says 120000000"));
  EXPECT_TRUE(says(complaint(replaced(text, "4.767 ms", "2.767 ms")),
                   "x:9: 268435456 bytes in 2.767 ms are 97.013 GB/s, but the output says 56.309"));
  EXPECT_TRUE(says(complaint(text + text), "x:17: a second run of TransferBench"));
  EXPECT_TRUE(
      says(complaint(text + text.substr(text.find("Test 1:"))), "x:17: test 1 below test 2"));
  EXPECT_TRUE(says(complaint(text + "[ERROR] Unexpected mismatch at index 0\n"),
                   "x:17: TransferBench failed"));
  const std::string csv = text_of("transferbench.csv");
  EXPECT_TRUE(says(complaint(csv.substr(0, csv.size() - 40)),
                   "x:4: expected a row of 13 columns, here are"));
  EXPECT_TRUE(says(complaint(csv + csv), "x:5: a second run of TransferBench"));
}

TEST(ImportTransferBench, ReadsAllForms) {
  const JournalRun bars = import("transferbench.txt");
  ASSERT_EQ(bars.results.size(), 3);
  EXPECT_EQ(bars.environment.imported.value("version"), "1.62.00");
  EXPECT_EQ(bars.results[2].id.axes, (Axes{{"test", std::int64_t{2}},
                                           {"transfer", std::int64_t{1}},
                                           {"bytes", std::int64_t{60000000}},
                                           {"source", "G1"s},
                                           {"executor", "D10"s},
                                           {"sub_executors", std::int64_t{1}},
                                           {"destination", "G0"s}}));
  EXPECT_EQ(bars.results[2].notes.value("transfers_at_once"), "2");
  const JournalRun borders = import("transferbench_borders.txt");
  EXPECT_NEAR(borders.results[0].rates.value("gb_per_s"), 97.5, 1e-6);
  const JournalRun csv = import("transferbench.csv");
  ASSERT_EQ(csv.results.size(), 2);
  EXPECT_EQ(csv.environment.imported.value("form"), "CSV");
  EXPECT_EQ(axis_word(csv.results[1].id, "source"), "C0");
}

TEST(Import, ToleratesLineEndsOfOtherSystems) {
  std::string text;
  for (const char c : text_of("all_reduce.txt")) text += c == '\n' ? "\r\n" : std::string(1, c);
  EXPECT_EQ(journal_of(import_run("all_reduce.txt", text, {})),
            journal_of(import("all_reduce.txt")));
}

TEST(Import, SaysWhatWasExpectedOnOneLine) {
  EXPECT_EQ(complaint("").rfind("x: empty: expected the output of nccl-tests", 0), 0);
  EXPECT_EQ(complaint("hello\nworld\n").rfind("x: of no tool that is known: expected", 0), 0);
  EXPECT_EQ(complaint("{\"a\": 1}").rfind("x: JSON of no tool that is known: expected", 0), 0);
  EXPECT_EQ(complaint("{\"nvbandwidth\": ").rfind("x: not whole JSON: expected", 0), 0);
  EXPECT_EQ(complaint("{\"a\": " + std::string(100000, '[')).rfind("x: nested deeper than 32", 0),
            0);
  EXPECT_EQ(complaint("TransferBench v1.62\n"), "x: no results of transferbench in it");
  EXPECT_EQ(complaint(replaced(text_of("all_reduce.txt"), "25.00   41.94", "soon    41.94")),
            "x:16: expected a time and a number of wrong elements, here are 'soon' and '0'");
  EXPECT_EQ(complaint(replaced(text_of("nvbandwidth.txt"), "55.20     55.30", "55.20")),
            "x:15: expected a row's number and 2 figures, here are 2 words");
  EXPECT_EQ(complaint(replaced(text_of("osu_bw.txt"), "1525.94", "fast")),
            "x:5: expected a row of 2 columns with a figure below \"Bandwidth (MB/s)\"");
  EXPECT_EQ(complaint(replaced(text_of("transferbench.csv"), "1.405", "-")),
            "x:2: expected a transfer's number, bytes, GB/s and ms, here are '0', '67108864', "
            "'47.772' and '-'");
}

TEST(Import, RefusesRanksThatAreNotNamed) {
  const std::string whole = text_of("all_reduce.txt");
  std::string text;
  for (const Line& line : lines_of(whole)) {
    if (line.text.find("Rank") == std::string_view::npos) text += std::string(line.text) + "\n";
  }
  EXPECT_TRUE(contains(complaint(text), "does not name its ranks"));
}

}  // namespace
}  // namespace duet
