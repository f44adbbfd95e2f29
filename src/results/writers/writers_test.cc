// The writers on fixed records, compared with the exact text.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "results/writers/collective_table.h"
#include "results/writers/console.h"
#include "results/writers/csv.h"
#include "results/writers/progress.h"

namespace duet {
namespace {

CaseId copy_case(std::int64_t bytes, int source, int destination,
                 const std::string& engine = "duet") {
  const std::string device = "sim:two:";
  return {"copy",
          "sim:two",
          engine,
          {{"kind", std::string("peer")},
           {"pattern", std::string("pair")},
           {"bytes", bytes},
           {"source", device + std::to_string(source)},
           {"destination", device + std::to_string(destination)},
           {"bidirectional", false}}};
}

Measurement copied(const CaseId& id, double seconds) {
  Measurement measurement;
  measurement.id = id;
  measurement.sampling.emplace();
  measurement.sampling->samples = {seconds};
  measurement.sampling->stopped_by = "iterations";
  measurement.sampling->mode = "adaptive";
  measurement.cost.wire_bytes = 1e9;
  return measurement;
}

Measurement refused(const CaseId& id, const std::string& reason) {
  Measurement measurement;
  measurement.id = id;
  measurement.skipped = Skipped{reason};
  return measurement;
}

std::string shown(const std::vector<Record>& records) {
  Section section{"copy", "sim:two", "2 x Model", {}};
  for (const Record& record : records) {
    if (outcome_of(record) != Outcome::derived) section.cases.push_back(case_of(record));
  }
  std::ostringstream out;
  ConsoleWriter console(out, /*colour=*/false);
  console.begin(section);
  for (const Record& record : records) console.result(record, false);
  console.end();
  return out.str();
}

TEST(Console, ShowsPairsSkipsAndFailures) {
  Measurement last = copied(copy_case(1 << 20, 1, 0), 0.05);
  last.warnings = {"not verified"};
  const std::string text = shown(
      {make_record(copied(copy_case(4096, 0, 1), 0.02)),
       make_record(refused(copy_case(4096, 1, 0), "no peer access")),
       make_record(copy_case(1 << 20, 0, 1), Failure{true, "byte 7 differs"}), make_record(last)});
  EXPECT_EQ(text,
            "copy on sim:two (2 x Model)\n"
            "engine duet, kind peer, pattern pair\n"
            "\n"
            "  bytes  path       median          rate     +-\n"
            "  4 KiB  0 > 1   20.000 ms    50.00 GB/s   0.0%\n"
            "  4 KiB  1 > 0  skipped: no peer access\n"
            "  1 MiB  0 > 1  WRONG: byte 7 differs\n"
            "  1 MiB  1 > 0   50.000 ms    20.00 GB/s   0.0%\n"
            "\n"
            "  GB/s at 1 MiB, peer\n"
            "  from \\ to      0      1\n"
            "  0                     -\n"
            "  1          20.00\n"
            "\n"
            "  1 case: not verified\n");
}

TEST(Console, AReasonMayBeEmptyOrEndInBlanks) {
  const CaseId bare{"copy", "sim:two", "duet", {}};
  EXPECT_NE(shown({make_record(refused(bare, ""))}).find("\n  skipped:\n"), std::string::npos);
  EXPECT_NE(shown({make_record(bare, Failure{false, "why  "})}).find("\n  failed: why\n"),
            std::string::npos);
}

TEST(Console, ComparesEngines) {
  const std::string text = shown({make_record(copied(copy_case(4096, 0, 1, "a"), 0.5)),
                                  make_record(copied(copy_case(8192, 0, 1, "a"), 0.25)),
                                  make_record(copied(copy_case(4096, 0, 1, "b"), 0.25)),
                                  make_record(refused(copy_case(8192, 0, 1, "b"), "too large"))});
  EXPECT_NE(text.find("\n  Engines, GB/s (* the best of a line)\n"
                      "  bytes      a       b\n"
                      "  4 KiB  2.000   4.000*\n"
                      "  8 KiB  4.000       -\n"),
            std::string::npos)
      << text;
}

TEST(Console, ShowsWhatFollowsFromCases) {
  Measurement fit;
  fit.id = {"copy_curve", "sim:two", "duet", {{"kind", std::string("peer")}}};
  fit.rates = {{"latency_us", 9.5}, {"n_half_bytes", 524288}};
  const std::string text =
      shown({make_record(copied(copy_case(4096, 0, 1), 0.5)), make_record(fit)});
  EXPECT_NE(text.find("  copy_curve: engine duet, kind peer\n  latency us     n half\n       9.500 "
                      " 512.0 KiB\n"),
            std::string::npos)
      << text;
  fit.rates.clear();
  fit.notes = {{"no_fit", "no latency shows"}};
  const std::string without =
      shown({make_record(copied(copy_case(4096, 0, 1), 0.5)), make_record(fit)});
  EXPECT_NE(without.find("  copy_curve: engine duet, kind peer\n  no fit: no latency shows\n"),
            std::string::npos)
      << without;
}

TEST(Csv, HasStableColumnsAndQuotes) {
  const std::vector<CaseId> cases = {copy_case(4096, 0, 1), copy_case(4096, 1, 0)};
  std::string text;
  CsvWriter csv({Section{"copy", "sim:two", "", cases}},
                [&](std::string_view more) { text += more; });
  csv.result(make_record(copied(cases[0], 0.5)), false);
  csv.result(make_record(refused(cases[1], "no, \"never\"")), false);
  EXPECT_EQ(
      text,
      "benchmark,device,engine,kind,pattern,bytes,source,destination,bidirectional,outcome,"
      "median_seconds,mean_seconds,min_seconds,p5_seconds,p95_seconds,p99_seconds,"
      "ci_low_seconds,ci_high_seconds,n,stopped_by,tflops,gb_per_s,other_rates,sampling,flushed,"
      "verified,reason\n"
      "copy,sim:two,duet,peer,pair,4096,sim:two:0,sim:two:1,false,measured,0.5,0.5,0.5,0.5,0."
      "5,0.5,0.5,0.5,1,"
      "iterations,,2.0,,adaptive,false,false,\n"
      "copy,sim:two,duet,peer,pair,4096,sim:two:1,sim:two:0,false,skipped,,,,,,,,,,,,,,,,,"
      "\"no, \"\"never\"\"\"\n");
}

TEST(Csv, HasColumnsForTheMetricsOfOverlap) {
  const auto id = [](const char* policy) {
    return CaseId{"overlap", "sim:two", "dma", {{"policy", std::string(policy)}}};
  };
  const std::vector<CaseId> cases = {id("dma"), id("base"), id("partition")};
  Measurement all = copied(cases[0], 0.5);
  all.metrics = {{"joules", 3}, {"fraction_of_ideal", -0.25}, {"bound", 0.5}};
  Measurement some = copied(cases[1], 0.5);
  some.metrics = {{"bound", 0.75}};
  std::string text;
  CsvWriter csv({Section{"overlap", "sim:two", "", cases}},
                [&](std::string_view more) { text += more; });
  const std::string head = text;
  csv.result(make_record(all), false);
  csv.result(make_record(some), false);
  csv.result(make_record(refused(cases[2], "why")), false);
  EXPECT_NE(head.find(",other_rates,fraction_of_ideal,bound,speedup,ideal_speedup,compute_slowdown,"
                      "communication_slowdown,compute_seconds,communication_seconds,"
                      "engine_seconds,other_metrics,sampling,"),
            std::string::npos)
      << head;
  EXPECT_NE(text.find(",2.0,,-0.25,0.5,,,,,,,,joules=3.0,adaptive,"), std::string::npos) << text;
  EXPECT_NE(text.find(",2.0,,,0.75,,,,,,,,,adaptive,"), std::string::npos) << text;
  EXPECT_NE(text.find("\noverlap,sim:two,dma,partition,skipped,"), std::string::npos) << text;
}

TEST(Progress, SaysWhatRunsAndForHowLong) {
  std::ostringstream out;
  double now = 0;
  Progress progress(out, 60, [&] { return now; });
  progress.plan(3);
  progress.start(copy_case(4096, 0, 1));
  now = 10;
  progress.done();
  out.str("");
  progress.start(copy_case(4096, 1, 0));
  EXPECT_EQ(out.str(), "\r[2/3] about 20 s left: copy on sim:two, duet, peer pair 4 K\033[K");
}

Record collective(const char* engine, bool in_place, double seconds) {
  Measurement m;
  m.id = {"collective",
          "host:2",
          engine,
          {{"collective", std::string("all_gather")},
           {"type", std::string("fp32")},
           {"bytes", std::int64_t{4096}},
           {"in_place", in_place},
           {"ranks", std::int64_t{2}}}};
  m.sampling.emplace();
  m.sampling->samples = {seconds};
  m.cost.algorithm_bytes = 4096;
  m.cost.bus_bytes = 2048;
  m.cost.busiest_wire_bytes = 2048;
  m.rates = {{"wrong", 0}};
  m.notes = {{"count", "512"}};
  return make_record(m);
}

TEST(CollectiveTable, HasEnginesBesideEachOther) {
  Record crossover = collective("dma", false, 1e-6);
  crossover["benchmark"] = "collective_crossover";
  crossover["outcome"] = "derived";
  crossover["case"] = {
      {"collective", "all_gather"}, {"type", "fp32"}, {"in_place", false}, {"against", "nccl"}};
  crossover["rates"] = {{"crossover_bytes", 8192},
                        {"last_bytes", 1048576},
                        {"smallest_bytes", 4096},
                        {"largest_bytes", 1048576},
                        {"times_as_fast", 1.5}};
  const std::vector<Record> records = {
      collective("dma", false, 1e-6), collective("nccl", false, 2e-6),
      collective("dma", true, 4e-6),
      make_record(case_of(collective("nccl", true, 1e-6)), Failure{true, "wrong"}), crossover};
  const std::vector<std::string> lines = {
      "  size  count  type    op  root   dma                       in place                        "
      " "
      "     nccl                       in place\n",
      "                                   us  algbw  busbw  wrong        us  algbw  busbw  wrong   "
      "wire    us  algbw  busbw  wrong        us  algbw  busbw  wrong   wire\n",
      "  4096    512  fp32  none    -1  1.00  4.096  2.048      0      4.00  1.024  0.512      0  "
      "2.048  2.00  2.048  1.024      0         -      -      -  WRONG  1.024\n"};
  EXPECT_EQ(collective_tables(records),
            "\n  all_gather, GB/s, 2 ranks\n" + lines[0] + lines[1] + lines[2]);
  EXPECT_EQ(crossover_lines(records),
            "\n  all_gather fp32: dma is the fastest from 8.000 KiB on, 1.50 times nccl at "
            "1.000 MiB\n");
}

}  // namespace
}  // namespace duet
