// Verdicts of all journals in docs/results: on a healthy machine no figure is LOW, and every figure
// becomes LOW if the machine runs at half its rate.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/label_fixture.h"
#include "results/journal.h"
#include "verdict/verdict.h"

namespace duet {
namespace {

// Journals of machines that were not healthy, or could not give what was asked of them.
const std::map<std::string, std::string> kKnownFaults = {
    {"h100/disturbed.jsonl", "another process copied within the device's memory"},
    {"epyc-2-cores/fabric/nodes_share.jsonl",
     "four ranks on two cores keep up with rails of 500 Mbit/s, but not of 1 Gbit/s"}};

std::vector<std::string> journals() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(DUET_RESULTS)) {
    if (entry.path().extension() != ".jsonl") continue;
    names.push_back(std::filesystem::relative(entry.path(), DUET_RESULTS).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<JournalRun> runs_of(const std::string& name) {
  return load_journal(std::string(DUET_RESULTS) + "/" + name).runs;
}

struct Judged {
  Record record;
  Verdict verdict;
};

std::vector<Judged> judged(const std::vector<JournalRun>& runs) {
  Evaluator evaluator;
  std::vector<Judged> all;
  for (const JournalRun& run : runs) {
    evaluator.see(run.environment);
    for (const Record& record : run.results) evaluator.see(record);
  }
  for (const Record* record : results_that_count(runs)) {
    if (record->outcome == Outcome::measured) all.push_back({*record, evaluator.evaluate(*record)});
  }
  return all;
}

// The record's case and its verdict.
std::string words(const Judged& one) {
  return case_key(one.record.id) + ": " + one.verdict.sentence;
}

void slow_down(Record& record, double times) {
  Seconds& seconds = record.seconds;
  for (double* value : {&seconds.median, &seconds.mean, &seconds.min, &seconds.p5, &seconds.p95,
                        &seconds.p99, &seconds.ci_low, &seconds.ci_high}) {
    *value *= times;
  }
}

// Makes those of a journal's results slower that `which` names.
void slow_down(std::vector<JournalRun>& runs, double times,
               const std::function<bool(const Record&)>& which) {
  for (JournalRun& run : runs) {
    for (Record& record : run.results) {
      if (which(record)) slow_down(record, times);
    }
  }
}

class JournalsOfHealthyMachines : public ::testing::TestWithParam<std::string> {
 protected:
  bool healthy() const { return kKnownFaults.count(GetParam()) == 0; }
};

TEST_P(JournalsOfHealthyMachines, HaveNoLow) {
  int doubts = 0;
  for (const Judged& one : judged(runs_of(GetParam()))) {
    const bool doubt = is_doubt(one.verdict.word);
    doubts += doubt;
    EXPECT_FALSE(doubt && healthy()) << words(one);
  }
  EXPECT_TRUE(doubts > 0 || healthy()) << kKnownFaults.at(GetParam());
}

// An expectation that half the rate would pass finds nothing. Of a CPU the peaks are halved with
// all else: there only what is judged by itself can be found.
TEST_P(JournalsOfHealthyMachines, AreLowAtHalfTheRate) {
  std::vector<JournalRun> runs = runs_of(GetParam());
  std::vector<Judged> before = judged(runs);
  slow_down(runs, 2, [](const Record& record) {
    const bool peak = record.id.benchmark == "gemm_peak" || record.id.benchmark == "copy_peak";
    return !peak && record.outcome == Outcome::measured;
  });
  const std::vector<Judged> after = judged(runs);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!is_judged(before[i].verdict.word)) continue;
    EXPECT_EQ(after[i].verdict.word, Word::low) << words(after[i]);
  }
}

// Which judged figures become LOW where some of a journal's records are slower; every one of those
// that `planted` names must, and no other may.
void expect_found(const std::string& journal, double times,
                  const std::function<bool(const Record&)>& planted) {
  std::vector<JournalRun> runs = runs_of(journal);
  slow_down(runs, times, planted);
  int found = 0;
  for (const Judged& one : judged(runs)) {
    if (!is_judged(one.verdict.word)) continue;
    const bool slow = planted(one.record);
    found += slow;
    EXPECT_EQ(one.verdict.word, slow ? Word::low : Word::pass) << words(one);
  }
  EXPECT_GT(found, 0) << journal;
}

bool measured(const Record& record, const std::string& benchmark) {
  return record.outcome == Outcome::measured && record.id.benchmark == benchmark;
}

TEST(PlantedFaults, ASlowPairIsFound) {
  const auto slow = [](const Record& record) {
    return measured(record, "copy") && axis_word(record.id, "source") == "cuda:1" &&
           axis_word(record.id, "destination") == "cuda:2";
  };
  expect_found("h200-4/copy.jsonl", 1.5, slow);
  expect_found("h200-4/quick.jsonl", 1.5, slow);
}

TEST(PlantedFaults, AThrottledGpuIsFound) {
  for (const char* journal : {"h200-4/gemm-bf16-cold.jsonl", "h200-4/gemm-fp16-cold.jsonl",
                              "h100/gemm-bf16-sustained.jsonl", "h100/gemm-fp16-sustained.jsonl"}) {
    expect_found(journal, 1.5, [](const Record& record) { return measured(record, "gemm"); });
  }
}

TEST(PlantedFaults, HalfTheLinksAreFound) {
  for (const char* journal : {"h200-2/collectives/loop.jsonl",
                              "h200-4/collectives/all_reduce.jsonl", "h200-8/all_to_all.jsonl"}) {
    expect_found(journal, 2, [](const Record& record) { return measured(record, "collective"); });
  }
}

INSTANTIATE_TEST_SUITE_P(Results, JournalsOfHealthyMachines, ::testing::ValuesIn(journals()),
                         machine_label);

}  // namespace
}  // namespace duet
