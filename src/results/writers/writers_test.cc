// The writers on fixed records, compared with the exact text.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "results/record_kind.h"
#include "results/writers/console.h"
#include "results/writers/csv.h"
#include "results/writers/progress.h"
#include "results/writers/remarks.h"
#include "results/writers/short_table.h"

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

std::string shown(const std::vector<Record>& records, Detail detail = Detail::every_case) {
  Section section{records.front().id.benchmark, "sim:two", "2 x Model", {}};
  for (const Record& record : records) {
    if (record.outcome != Outcome::derived) section.cases.push_back(record.id);
  }
  std::ostringstream out;
  ConsoleWriter console(out, /*colour=*/false, detail);
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

// Expects every line to be at most kShortWidth wide.
void expect_short(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kShortWidth) << line;
}

Measurement multiplied(const std::string& engine, std::int64_t m, double seconds) {
  Measurement measurement = copied({"gemm",
                                    "sim:two",
                                    engine,
                                    {{"M", m},
                                     {"N", std::int64_t{64}},
                                     {"K", std::int64_t{64}},
                                     {"sets", std::vector<std::string>{"custom"}}}},
                                   seconds);
  measurement.cost = {};
  measurement.cost.flop = 1e12;
  return measurement;
}

TEST(ShortTable, HasEnginesBesideEachOther) {
  const CaseId large = multiplied("b", 256, 1).id;
  const std::string text =
      shown({make_record(multiplied("a", 128, 0.5)), make_record(multiplied("a", 256, 0.25)),
             make_record(multiplied("b", 128, 0.25)), make_record(refused(large, "too large"))},
            Detail::short_tables);
  EXPECT_EQ(text,
            "gemm on sim:two (2 x Model)\n"
            "N 64, K 64, sets custom\n"
            "\n"
            "  TFLOP/s (* the best of a line)\n"
            "    M      a       b\n"
            "  128  2.000   4.000*\n"
            "  256  4.000*      -\n"
            "\n"
            "  1 case skipped: too large\n");
}

// "none" leaves out a part of the work.
TEST(ShortTable, ABoundIsNotTheBest) {
  const std::string text =
      shown({make_record(multiplied("none", 128, 0.25)), make_record(multiplied("a", 128, 0.5)),
             make_record(multiplied("b", 128, 1))},
            Detail::short_tables);
  EXPECT_NE(text.find("2.000*"), std::string::npos) << text;
  EXPECT_EQ(text.find("4.000*"), std::string::npos) << text;
}

TEST(ShortTable, OfManyLinesShowsSomeAndSaysSo) {
  std::vector<Record> records;
  for (std::int64_t m = 1; m <= 100; ++m) {
    records.push_back(make_record(multiplied("a", m, 0.5)));
  }
  const std::string text = short_table("gemm", records);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  EXPECT_EQ(lines, kShortRows + 3) << text;  // a blank one, the heading, what was left out
  EXPECT_NE(text.find("\n    1  500.000 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  100  500.000 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("  30 of 100 lines; all: --verbose, --csv FILE or --report\n"),
            std::string::npos)
      << text;
}

TEST(ShortTable, IsNarrowHoweverManyEnginesAndSizes) {
  std::vector<Record> records;
  for (const char* kind : {"peer", "local", "host_to_device", "device_to_host"}) {
    for (std::int64_t bytes = 4096; bytes <= 1 << 30; bytes *= 2) {
      CaseId id = copy_case(bytes, 0, 1);
      id.axes.set("kind", std::string(kind));
      records.push_back(make_record(copied(id, 0.5)));
    }
  }
  const std::string sizes = short_table("copy", records);
  expect_short(sizes);
  EXPECT_NE(sizes.find("host_to_device  2.000"), std::string::npos) << sizes;
  records.clear();
  for (int engine = 0; engine < 12; ++engine) {
    const std::string name = "an-engine-with-a-long-name-" + std::to_string(engine);
    records.push_back(make_record(multiplied(name, 128, 0.5)));
  }
  const std::string engines = short_table("gemm", records);
  expect_short(engines);
  EXPECT_NE(engines.find("2.000 TFLOP/s"), std::string::npos) << engines;
}

TEST(ShortTable, APairMatrixIsALine) {
  std::vector<Record> records;
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      if (from == to) continue;
      const double seconds = from == 2 && to == 3 ? 1 : 0.5;
      records.push_back(make_record(copied(copy_case(1 << 20, from, to), seconds)));
    }
  }
  EXPECT_EQ(short_table("copy", records),
            "\n  12 pairs, peer pair 1 MiB: 1.000 (2 > 3) to 2.000 GB/s\n"
            "  the matrix of all pairs: --verbose or --report\n");
}

TEST(ShortTable, ReasonsThatDifferInNumbersAreOne) {
  EXPECT_EQ(missing_lines({make_record(refused(copy_case(4096, 0, 1), "needs 3 GiB")),
                           make_record(refused(copy_case(8192, 0, 1), "needs 4 GiB")),
                           make_record(copy_case(4096, 1, 0), Failure{true, "byte 7"})}),
            "  2 cases skipped: needs ... GiB\n"
            "  1 case WRONG (duet peer pair 4 KiB 1 > 0): byte 7\n");
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

TEST(Console, ShowsWhereATrainingStepsMemoryAndTimeGo) {
  Measurement step = copied({"train", "sim:two", "duet", {{"model", std::string("7b")}}}, 0.5);
  step.metrics = {{"memory_bytes", 6.01e9}, {"parameters_bytes", 2e9},
                  {"input_bytes", 1e7},     {"optimizer_states_bytes", 4e9},
                  {"gemm_seconds", 0.25},   {"loss_seconds", 0.125}};
  const std::string text = shown({make_record(step)});
  EXPECT_NE(text.find("  memory of a rank, GB\n  parameters  optimizer states   all\n        2.00  "
                      "            4.00  6.01\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("timed one by one, ms\n    gemm    loss     sum\n  250.00  125.00  375.00\n"),
            std::string::npos)
      << text;
  step.metrics = {{"memory_bytes", 2.5e5}, {"parameters_bytes", 2e5}, {"gemm_seconds", 4e-6}};
  const std::string tiny = shown({make_record(step)});
  EXPECT_NE(tiny.find("  memory of a rank, KB\n  parameters     all\n      200.00  250.00\n"),
            std::string::npos)
      << tiny;
  EXPECT_NE(tiny.find("timed one by one, us\n  gemm   sum\n  4.00  4.00\n"), std::string::npos)
      << tiny;
}

TEST(Console, MarksWhatABusyCpuMeasured) {
  CaseId id = copy_case(4096, 0, 1);
  id.device = "host";
  Record busy = make_record(copied(id, 0.5));
  busy.load = HostLoad{std::nullopt, 0.57, 0.0};
  for (const Detail detail : {Detail::every_case, Detail::short_tables}) {
    const std::string text = shown({busy}, detail);
    EXPECT_NE(text.find("2.000 GB/s?"), std::string::npos) << text;
    EXPECT_NE(text.find("  ? in doubt: others used 57% of the CPU, 0% was stolen\n"),
              std::string::npos)
        << text;
  }
  busy.load->others = 0.02;
  EXPECT_EQ(shown({busy}).find('?'), std::string::npos);
}

TEST(Console, SaysWhatWouldNarrowAnInterval) {
  Measurement wide = copied(copy_case(4096, 0, 1), 0.5);
  wide.sampling->stopped_by = "time";
  wide.sampling->samples.clear();
  for (int i = 0; i < 30; ++i) wide.sampling->samples.push_back(0.01 * (1 + 0.01 * i));
  const std::string text = shown({make_record(wide)});
  EXPECT_NE(text.find(" >12.7%\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  1 of 1 case has +- over 2% (1 drifts: clocks or load still change): "
                      "--seconds 1.4 would halve it\n"),
            std::string::npos)
      << text;
  wide.sampling->stopped_by = "iterations";
  EXPECT_EQ(shown({make_record(wide)}).find("--seconds"), std::string::npos);
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
      "ci_low_seconds,ci_high_seconds,samples,stopped_by,gb_per_s,gb_per_s_each,latency_us,"
      "asymptotic_gb_per_s,n_half_bytes,bytes_50_percent,bytes_80_percent,bytes_90_percent,"
      "miss_percent,beyond_best_percent,other_figures,sampling,flushed,verified,reason\n"
      "copy,sim:two,duet,peer,pair,4096,sim:two:0,sim:two:1,false,measured,0.5,0.5,0.5,0.5,0."
      "5,0.5,0.5,0.5,1,"
      "iterations,2.0,,,,,,,,,,,adaptive,false,false,\n"
      "copy,sim:two,duet,peer,pair,4096,sim:two:1,sim:two:0,false,skipped,,,,,,,,,,,,,,,,,,,,,,,,,"
      "\"no, \"\"never\"\"\"\n");
}

TEST(Csv, ColumnsOfAGemmHaveNamesOfTheirOwn) {
  std::string text;
  CsvWriter csv(
      {Section{"gemm",
               "sim:two",
               "",
               {{"gemm",
                 "sim:two",
                 "cpu",
                 {{"m", std::int64_t{128}}, {"n", std::int64_t{64}}, {"k", std::int64_t{64}}}}}}},
      [&](std::string_view more) { text += more; });
  const std::size_t axis = text.find(",n,");
  EXPECT_NE(axis, std::string::npos) << text;
  EXPECT_EQ(text.find(",n,", axis + 1), std::string::npos) << text;
  EXPECT_NE(text.find(",samples,stopped_by,tflops,other_figures,"), std::string::npos) << text;
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
  EXPECT_NE(head.find(",stopped_by,best_seconds,ahead,fraction_of_ideal,bound,speedup,"
                      "ideal_speedup,compute_slowdown,communication_slowdown,compute_seconds,"
                      "communication_seconds,engine_seconds,other_figures,sampling,"),
            std::string::npos)
      << head;
  EXPECT_NE(text.find(",iterations,,,-0.25,0.5,,,,,,,,gb_per_s=2.0; joules=3.0,adaptive,"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(",iterations,,,,0.75,,,,,,,,gb_per_s=2.0,adaptive,"), std::string::npos)
      << text;
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
  m.cost.more = {{"algorithm_bytes", 4096}, {"bus_bytes", 2048}, {"busiest_wire_bytes", 2048}};
  m.rates = {{"wrong", 0}};
  m.notes = {{"count", "512"}};
  return make_record(m);
}

TEST(ShortTable, HasEachCollectiveFigureOnce) {
  const std::vector<Record> records = {
      collective("dma", false, 1e-6), collective("nccl", false, 2e-6),
      collective("dma", true, 4e-6),
      make_record(collective("nccl", true, 1e-6).id, Failure{true, "wrong"})};
  EXPECT_EQ(shown(records, Detail::short_tables),
            "collective on sim:two (2 x Model)\n"
            "collective all_gather, type fp32, bytes 4 KiB, ranks 2\n"
            "\n"
            "  busbw GB/s (* the best of a line)\n"
            "    dma    nccl        dma\n"
            "    out     out   in place\n"
            "  2.048*  1.024      0.512\n"
            "\n"
            "  1 case WRONG (nccl all_gather fp32 4 KiB in_place ranks 2): wrong\n");
  EXPECT_NE(shown(records).find("algbw 4.096 GB/s, wire 2.048 GB/s, wrong 0, count 512"),
            std::string::npos);
}

TEST(CrossoverText, SaysFromWhereOn) {
  Record crossover = collective("dma", false, 1e-6);
  crossover.id.benchmark = "collective_crossover";
  crossover.outcome = Outcome::derived;
  crossover.id.axes = {{"collective", std::string("all_gather")},
                       {"type", std::string("fp32")},
                       {"in_place", false},
                       {"against", std::string("nccl")}};
  crossover.rates = {{"crossover_bytes", 8192},
                     {"last_bytes", 1048576},
                     {"smallest_bytes", 4096},
                     {"largest_bytes", 1048576},
                     {"times_as_fast", 1.5}};
  EXPECT_EQ(record_kind("collective_crossover").sentences({crossover}),
            "\n  all_gather fp32: dma is the fastest from 8.000 KiB on, 1.50 times nccl at "
            "1.000 MiB\n");
  crossover.id.axes.set("packet", std::int64_t{65536});
  crossover.id.axes.set("against_packet", std::int64_t{4096});
  EXPECT_EQ(record_kind("collective_crossover").sentences({crossover}),
            "\n  all_gather fp32: dma (packets of 64 KiB) is the fastest from 8.000 KiB on, 1.50 "
            "times nccl (packets of 4 KiB) at 1.000 MiB\n");
}

}  // namespace
}  // namespace duet
