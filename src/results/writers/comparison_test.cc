// Comparisons as a table and as CSV, compared with the exact text.
#include "results/writers/comparison.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "results/compare_fixture.h"
#include "results/record_json.h"

namespace duet {
namespace {

constexpr std::size_t kNoLimit = SIZE_MAX;

TEST(ComparisonTable, ShowsTheWorstFirst) {
  const JournalContents base =
      journal("base", {measured(copy_case(1), 1, 1, 1), measured(copy_case(1 << 20), 1, 1, 1),
                       measured(copy_case(1 << 10), 1, 1, 1), measured(copy_case(4), 1, 1, 1),
                       measured(copy_case(5), 1, 1, 1), measured(copy_case(6), 1, 1, 1)});
  const JournalContents now = journal(
      "new", {measured(copy_case(1), 1.25, 1.25, 1.25), measured(copy_case(1 << 20), 2, 2, 2),
              one_sample(copy_case(1 << 10), 0.5), measured(copy_case(4), 1, 1, 1),
              make_record(copy_case(5), Failure{true, "byte 7 differs"})});
  const auto cases = compare(base, now, false);
  EXPECT_EQ(comparison_table(cases, false, kNoLimit),
            "  benchmark  engine  case                    base         new   change  noise  "
            "verdict\n"
            "  copy       duet    peer 5 B 0 > 1    1.000 GB/s       wrong                  worse: "
            "wrong: byte 7 differs\n"
            "  copy       duet    peer 1 MiB 0 > 1  1.000 GB/s  0.500 GB/s   -50.0%   3.5%  worse\n"
            "  copy       duet    peer 1 B 0 > 1    1.000 GB/s  0.800 GB/s   -20.0%   3.5%  worse\n"
            "  copy       duet    peer 1 KiB 0 > 1  1.000 GB/s  2.000 GB/s  +100.0%   3.5%  better "
            "(one sample)\n"
            "  copy       duet    peer 6 B 0 > 1    1.000 GB/s           -                  "
            "missing\n");
  EXPECT_EQ(comparison_noise(cases),
            "A rate counts as worse only if it fell by more than runs of one program differ: 3.5% "
            "for the median case, 3.5% for the noisiest.");
  EXPECT_EQ(comparison_noise({}), "");
  EXPECT_EQ(comparison_counts(cases), "6 cases: 3 worse, 1 better, 1 unchanged, 1 missing");
  const std::string all = comparison_table(cases, true, kNoLimit);
  EXPECT_NE(all.find("peer 4 B 0 > 1    1.000 GB/s  1.000 GB/s    +0.0%   3.5%  unchanged\n"),
            std::string::npos)
      << all;
  EXPECT_EQ(comparison_table({}, true, kNoLimit), "");
}

// 12 pairs of 4 devices. The first takes `first` seconds, the others `others`.
JournalContents pairs(const std::string& name, double first, double others) {
  std::vector<Record> records;
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      if (from == to) continue;
      CaseId id = copy_case(1 << 20);
      id.axes.set("source", "cuda:" + std::to_string(from));
      id.axes.set("destination", "cuda:" + std::to_string(to));
      const double seconds = records.empty() ? first : others;
      records.push_back(measured(id, seconds, seconds, seconds));
    }
  }
  return journal(name, records, environment("cuda", "NVIDIA H200", 4));
}

TEST(ComparisonTable, FoldsPairsThatChangedAlike) {
  const JournalContents base = pairs("base", 1, 1), now = pairs("new", 4, 2);
  const auto cases = compare(base, now, false);
  EXPECT_EQ(comparison_table(cases, false, kNoLimit),
            "  benchmark  engine  case                                      base         new  "
            "change  noise  verdict\n"
            "  copy       duet    peer 1 MiB 0 > 1                    1.000 GB/s  0.250 GB/s  "
            "-75.0%   4.0%  worse\n"
            "  copy       duet    peer 1 MiB 0 > 2 and 10 more pairs  1.000 GB/s  0.500 GB/s  "
            "-50.0%   4.0%  worse\n");
}

TEST(ComparisonTable, IsAsWideAsTheTerminal) {
  const JournalContents base = pairs("base", 1, 1), now = pairs("new", 4, 2);
  const auto cases = compare(base, now, false);
  const std::string table = comparison_table(cases, false, 80);
  EXPECT_NE(table.find(".."), std::string::npos) << table;
  for (std::size_t at = 0, end; (end = table.find('\n', at)) != std::string::npos; at = end + 1) {
    EXPECT_LE(end - at, 80u) << table;
  }
}

TEST(ComparisonTable, HasALineABenchmark) {
  const JournalContents base = journal(
      "base",
      {measured(copy_case(1), 1, 1, 1), measured(copy_case(2), 1, 1, 1), fraction(1.0, 0.5)});
  const JournalContents now =
      journal("new", {measured(copy_case(1), 2, 2, 2), measured(copy_case(2), 0.5, 0.5, 0.5),
                      fraction(1.25, 0.25)});
  EXPECT_EQ(comparison_benchmarks(compare(base, now, false)),
            "  benchmark  cases  change  as                             from       to\n"
            "  copy           2   +0.0%  geometric mean of the rates  -50.0%  +100.0%\n"
            "  overlap        1   -0.25  mean of the fractions         -0.25    -0.25\n");
  EXPECT_EQ(comparison_benchmarks({}), "");
}

TEST(ComparisonCsv, HasALineACase) {
  const JournalContents base = journal("base", {measured(kCase, 1, 1, 1)});
  const JournalContents now = journal("new", {measured(kCase, 2, 2, 2), skipped(copy_case(1))});
  auto cases = compare(base, now, false);
  cases[0].noise = 3.5;
  EXPECT_EQ(
      comparison_csv(cases),
      "benchmark,device,engine,kind,bytes,source,destination,bidirectional,sets,verdict,"
      "change_percent,noise_percent,difference,difference_noise,one_sample,reason,rate,base_runs,"
      "base_outcome,base_rate,"
      "base_median_seconds,"
      "base_ci_low_seconds,base_ci_high_seconds,base_n,new_runs,new_outcome,new_rate,"
      "new_median_seconds,new_ci_low_seconds,new_ci_high_seconds,new_n\n"
      "copy,cuda,duet,peer,4096,cuda:0,cuda:1,false,label,worse,-50.0,3.5,,,false,,gb_per_s,"
      "1,measured,1.0,1.0,1.0,1.0,2,1,measured,0.5,2.0,2.0,2.0,2\n"
      "copy,cuda,duet,peer,1,cuda:0,cuda:1,false,label,new,,,,,false,,,0,,,,,,,1,skipped,,,,,\n");
}

TEST(ComparisonJson, SaysOfASideThatLacksACaseNull) {
  const JournalContents base = journal("base", {measured(kCase, 1, 1, 1)});
  const JournalContents now = journal("new", {measured(kCase, 2, 2, 2), skipped(copy_case(1))});
  const Json out = Json::parse(comparison_json({&base}, {&now}, compare(base, now, false)));
  EXPECT_EQ(out["counts"]["worse"], 1);
  EXPECT_EQ(out["counts"]["new"], 1);
  EXPECT_EQ(out["counts"]["missing"], 0);
  ASSERT_EQ(out["cases"].size(), 2);
  const Json& slower = out["cases"][0];
  EXPECT_EQ(slower["case"]["sets"], Json::array({"label"}));
  EXPECT_EQ(slower["change_percent"], -50.0);
  EXPECT_EQ(slower["base"]["rate"], 1.0);
  EXPECT_EQ(slower["new"]["seconds"]["median"], 2.0);
  const Json& added = out["cases"][1];
  EXPECT_TRUE(added["base"].is_null());
  EXPECT_TRUE(added["rate"].is_null());
  EXPECT_EQ(added["new"], (Json{{"runs", 1}, {"outcome", "skipped"}}));
}

}  // namespace
}  // namespace duet
