#include "importing/import.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "results/record.h"

namespace duet {
namespace {

std::string text_of(const std::string& name) {
  std::ifstream file(std::string(DUET_FOREIGN) + "/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Record> import(const std::string& name, const ImportOptions& options = {}) {
  return import_run(name, text_of(name), options);
}

std::string complaint(const std::string& text, const ImportOptions& options = {}) {
  try {
    import_run("x", text, options);
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

std::string replaced(std::string text, const std::string& part, const std::string& by) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), by);
}

double median(const Record& record) { return record["seconds"]["median"].get<double>(); }

TEST(ImportNcclTests, TellsDevicesLibraryAndThatItWasImported) {
  const Record environment = import("all_reduce.txt").front();
  EXPECT_EQ(environment["imported"]["tool"], "nccl-tests");
  EXPECT_EQ(environment["imported"]["version"], "2.17.6");
  EXPECT_EQ(environment["imported"]["form"], "text");
  EXPECT_EQ(environment["imported"]["file"], "all_reduce.txt");
  EXPECT_EQ(environment["run"]["libraries"]["NCCL"], "2.28.9");
  EXPECT_EQ(environment["run"]["host"]["name"], "node-1");
  const Record& machine = environment["machines"][0];
  EXPECT_EQ(machine["name"], "cuda");
  ASSERT_EQ(machine["devices"].size(), 4);
  EXPECT_EQ(
      machine["devices"][3],
      (Record{
          {"name", "cuda:3"}, {"kind", "cuda"}, {"model", "NVIDIA H200"}, {"bus", "0000:5d:00"}}));
}

TEST(ImportNcclTests, HasTheAxesOfACollective) {
  const std::vector<Record> records = import("all_reduce.txt");
  ASSERT_EQ(records.size(), 7);
  const Record& one = records[2];
  EXPECT_EQ(one["benchmark"], "collective");
  EXPECT_EQ(one["device"], "cuda");
  EXPECT_EQ(one["engine"], "nccl-tests");
  EXPECT_EQ(one["case"], (Record{{"collective", "all_reduce"},
                                 {"type", "fp32"},
                                 {"op", "sum"},
                                 {"bytes", 1048576},
                                 {"in_place", true},
                                 {"ranks", 4}}));
  EXPECT_DOUBLE_EQ(median(one), 25.5e-6);
  EXPECT_NEAR(one["rates"]["busbw_gb_per_s"].get<double>(), 61.68, 0.01);
  EXPECT_NEAR(one["rates"]["algbw_gb_per_s"].get<double>(), 41.12, 0.01);
  EXPECT_EQ(one["verified"], true);
  EXPECT_EQ(one["warm_ups"], 1);
  EXPECT_EQ(one["notes"]["mean_of_calls"], "20");
}

TEST(ImportNcclTests, LeavesOutWhatIsNotKnown) {
  ImportOptions options;
  options.collective = "all_gather";
  const std::vector<Record> records = import("all_gather_old.txt", options);
  const Record& one = records[1];
  for (const char* field : {"samples", "telemetry", "load"}) EXPECT_FALSE(one.contains(field));
  EXPECT_FALSE(one["seconds"].contains("stopped_by"));
  EXPECT_EQ(one["seconds"]["n"], 1);
  EXPECT_EQ(one["verified"], false);
  EXPECT_EQ(one["warnings"].size(), 1);
  EXPECT_EQ(one["notes"]["largest_error"], "2e-07");  // and not a number of wrong elements
  EXPECT_EQ(outcome_of(one), Outcome::measured);
  EXPECT_FALSE(records[0]["imported"].contains("version"));
  EXPECT_FALSE(records[0]["run"].contains("libraries"));
}

TEST(ImportNcclTests, AsksForACollectiveThatIsNotNamed) {
  EXPECT_NE(complaint(text_of("all_gather_old.txt")).find("--collective"), std::string::npos);
  ImportOptions options;
  options.collective = "all_of_it";
  EXPECT_NE(complaint(text_of("all_gather_old.txt"), options).find("unknown collective"),
            std::string::npos);
}

TEST(ImportNcclTests, SeveralHostsAreThoseOfTheFirstAndWrongDataAreWrong) {
  const std::vector<Record> records = import("two_nodes.txt");
  EXPECT_EQ(records[0]["processes"], 4);
  EXPECT_EQ(records[0]["machines"][0]["devices"].size(), 2);
  EXPECT_EQ(outcome_of(records[1]), Outcome::wrong);
  EXPECT_EQ(reason_of(records[1]), "3 elements are wrong");
  EXPECT_EQ(outcome_of(records[2]), Outcome::measured);
  EXPECT_EQ(axis_number(records[2], "graph_launches"), 4);
  EXPECT_EQ(axis_word(records[2], "op"), "");
}

TEST(ImportNcclTests, ReadsItsJson) {
  const std::vector<Record> records = import("reduce_scatter.json");
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(records[0]["imported"]["form"], "JSON");
  EXPECT_EQ(records[0]["run"]["command"],
            "./build/reduce_scatter_perf -b 16M -e 16M -g 2 -d bfloat16 -J out.json");
  EXPECT_EQ(axis_number(records[1], "ranks"), 2);
  EXPECT_EQ(axis_word(records[1], "type"), "bf16");
  EXPECT_EQ(records[1]["verified"], true);
  EXPECT_EQ(records[2]["verified"], false);
  EXPECT_NEAR(records[1]["rates"]["busbw_gb_per_s"].get<double>(), 104.8576, 1e-6);
}

TEST(ImportNcclTests, LeavesOutFiguresOfSingleCalls) {
  const std::vector<Record> text = import("all_gather_per_call.txt");
  ASSERT_EQ(text.size(), 5);
  EXPECT_DOUBLE_EQ(median(text[2]), 20.25e-6);
  EXPECT_EQ(text[2]["verified"], true);
  const std::vector<Record> json = import("all_reduce.json");
  ASSERT_EQ(json.size(), 3);
  EXPECT_DOUBLE_EQ(median(json[2]), 82e-6);
  EXPECT_EQ(json[2]["seconds"]["n"], 1);
}

TEST(ImportNcclTests, RcclTestsAreOfHip) {
  const std::vector<Record> records = import("rccl.txt");
  EXPECT_EQ(records[1]["engine"], "rccl-tests");
  EXPECT_EQ(records[1]["device"], "hip");
  EXPECT_EQ(records[0]["run"]["libraries"]["RCCL"], "2.27.7");
}

TEST(ImportNvbandwidth, CopiesThatDuetMeasuresTooHaveItsAxes) {
  ImportOptions options;
  options.bytes = 536870912;
  const std::vector<Record> records = import("nvbandwidth.txt", options);
  EXPECT_EQ(records[0]["machines"][0]["devices"][1]["model"], "NVIDIA H200");
  EXPECT_EQ(records[0]["machines"][0]["devices"][1]["bus"], "00000000:2a:00");
  const Record& peer = records[3];
  EXPECT_EQ(peer["benchmark"], "copy");
  EXPECT_EQ(peer["case"], (Record{{"kind", "peer"},
                                  {"executor", "dma"},
                                  {"issue", "pull"},
                                  {"pattern", "pair"},
                                  {"bytes", 536870912},
                                  {"source", "cuda:1"},
                                  {"destination", "cuda:0"},
                                  {"bidirectional", false}}));
  EXPECT_NEAR(peer["rates"]["gb_per_s"].get<double>(), 390.1, 1e-6);
  EXPECT_NEAR(median(peer), 536870912 / 390.1e9, 1e-9);
  EXPECT_EQ(axis_word(records[1], "source"), "pinned");
}

TEST(ImportNvbandwidth, WithoutASizeTheSecondsAreOfAGigabyte) {
  const std::vector<Record> records = import("nvbandwidth.txt");
  EXPECT_FALSE(records[3]["case"].contains("bytes"));
  EXPECT_NEAR(records[3]["rates"]["gb_per_s"].get<double>(), 390.1, 1e-6);
  EXPECT_NEAR(median(records[3]), 1 / 390.1, 1e-9);
  EXPECT_EQ(records[3]["notes"]["seconds"], "of 10^9 bytes: the size is not known");
}

TEST(ImportNvbandwidth, OtherTestsKeepTheirNames) {
  const std::vector<Record> records = import("nvbandwidth.txt");
  ASSERT_EQ(records.size(), 12);
  EXPECT_EQ(records[5]["benchmark"], "nvbandwidth");
  EXPECT_EQ(axis_word(records[5], "test"), "device_to_device_bidirectional_memcpy_read_ce_read1");
  EXPECT_EQ(axis_word(records[7], "test"), "device_to_device_bidirectional_memcpy_read_ce_total");
  EXPECT_DOUBLE_EQ(median(records[9]), 650e-9);
  EXPECT_EQ(outcome_of(records[11]), Outcome::skipped);
  EXPECT_EQ(reason_of(records[11]), "the test needs MPI");
}

TEST(ImportNvbandwidth, ReadsVersion0_10AndKnowsWhereWritesGo) {
  const std::vector<Record> records = import("nvbandwidth_new.txt");
  ASSERT_EQ(records.size(), 7);
  EXPECT_EQ(records[0]["imported"]["version"], "v0.10.0");
  EXPECT_EQ(axis_word(records[2], "kind"), "device_to_host");
  EXPECT_EQ(axis_word(records[2], "source"), "cuda:1");
  EXPECT_EQ(axis_word(records[2], "destination"), "pinned");
  EXPECT_EQ(axis_word(records[3], "issue"), "push");
  EXPECT_EQ(axis_word(records[3], "source"), "cuda:0");
  EXPECT_EQ(axis_word(records[3], "destination"), "cuda:1");
  EXPECT_NEAR(records[3]["rates"]["gb_per_s"].get<double>(), 392.5, 1e-6);
  EXPECT_EQ(axis_word(records[5], "test"), "device_to_device_memcpy_read_tma");
}

TEST(ImportNvbandwidth, ReadsItsJson) {
  const std::vector<Record> records = import("nvbandwidth.json");
  ASSERT_EQ(records.size(), 5);
  EXPECT_EQ(records[0]["machines"][0]["name"], "nvbandwidth");
  EXPECT_TRUE(records[0]["machines"][0]["devices"].empty());
  EXPECT_EQ(axis_word(records[1], "issue"), "push");
  EXPECT_EQ(axis_word(records[1], "destination"), "cuda:1");
  EXPECT_EQ(outcome_of(records[3]), Outcome::skipped);
  EXPECT_EQ(outcome_of(records[4]), Outcome::failed);
  EXPECT_EQ(reason_of(records[4]), "out of memory");
}

TEST(ImportOsu, ReadsLatencyAndValidation) {
  const std::vector<Record> records = import("osu_allreduce.txt");
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(records[0]["imported"]["version"], "7.5");
  EXPECT_EQ(records[1]["case"],
            (Record{{"test", "MPI-CUDA Allreduce Latency"}, {"type", "MPI_INT"}, {"bytes", 4}}));
  EXPECT_DOUBLE_EQ(median(records[1]), 11.69e-6);
  EXPECT_EQ(records[1]["verified"], true);
  EXPECT_EQ(records[1]["notes"]["Max Latency(us)"], "12.00");
  EXPECT_EQ(outcome_of(records[2]), Outcome::wrong);
}

TEST(ImportOsu, ReadsBandwidth) {
  const std::vector<Record> records = import("osu_bw.txt");
  EXPECT_EQ(outcome_of(records[1]), Outcome::skipped);
  EXPECT_NEAR(records[3]["rates"]["gb_per_s"].get<double>(), 24.0, 1e-6);
}

TEST(ImportOsu, ReadsWhatItPrintedInRuns) {
  EXPECT_EQ(import("osu_ran_put_bw.txt")[1]["case"], (Record{{"test", "MPI_Put Bandwidth"},
                                                             {"window", "MPI_Win_allocate"},
                                                             {"synchronization", "MPI_Win_flush"},
                                                             {"bytes", 1}}));
  const Record rates = import("osu_ran_mbw_mr.txt")[1];
  EXPECT_EQ(axis_word(rates, "pairs"), "1");
  EXPECT_TRUE(rates["notes"].contains("Messages/s"));
  const Record overlapped = import("osu_ran_ialltoall.txt")[1];
  EXPECT_DOUBLE_EQ(median(overlapped), 1.4e-6);
  EXPECT_TRUE(overlapped["notes"].contains("Overlap(%)"));
  const std::vector<Record> barrier = import("osu_ran_barrier.txt");
  ASSERT_EQ(barrier.size(), 2);
  EXPECT_FALSE(barrier[1]["case"].contains("bytes"));
  EXPECT_EQ(barrier[1]["notes"]["Iterations"], "100");
  EXPECT_DOUBLE_EQ(median(import("osu_ran_allreduce.txt")[1]), 0.42e-6);
}

TEST(ImportTransferBench, ReadsAllForms) {
  const std::vector<Record> bars = import("transferbench.txt");
  ASSERT_EQ(bars.size(), 4);
  EXPECT_EQ(bars[0]["imported"]["version"], "1.62.00");
  EXPECT_EQ(bars[3]["case"], (Record{{"test", 2},
                                     {"transfer", 1},
                                     {"bytes", 60000000},
                                     {"source", "G1"},
                                     {"executor", "D10"},
                                     {"sub_executors", 1},
                                     {"destination", "G0"}}));
  EXPECT_EQ(bars[3]["notes"]["transfers_at_once"], "2");
  const std::vector<Record> borders = import("transferbench_borders.txt");
  EXPECT_NEAR(borders[1]["rates"]["gb_per_s"].get<double>(), 97.5, 1e-6);
  const std::vector<Record> csv = import("transferbench.csv");
  ASSERT_EQ(csv.size(), 3);
  EXPECT_EQ(csv[0]["imported"]["form"], "CSV");
  EXPECT_EQ(axis_word(csv[2], "source"), "C0");
}

TEST(Import, ToleratesLineEndsOfOtherSystems) {
  std::string text;
  for (const char c : text_of("all_reduce.txt")) text += c == '\n' ? "\r\n" : std::string(1, c);
  EXPECT_EQ(import_run("all_reduce.txt", text, {}), import("all_reduce.txt"));
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
  EXPECT_NE(complaint(text).find("does not name its ranks"), std::string::npos);
}

}  // namespace
}  // namespace duet
