// The table of each journal in docs/results: names of columns are unique, and every rate has a
// column.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "results/journal.h"
#include "results/record_kind.h"
#include "results/writers/csv.h"

namespace duet {
namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

// The columns of a table of all cases of a journal, and what is in its column other_figures.
struct Table {
  std::vector<std::string> columns;
  std::string others;
};

Table table_of(const std::vector<JournalRun>& runs) {
  Section section;
  for (const JournalRun& run : runs) {
    for (const Record& record : run.results) {
      if (record.outcome != Outcome::derived) section.cases.push_back(record.id);
    }
  }
  std::string text;
  CsvWriter csv({section}, [&](std::string_view more) { text += more; });
  Table table;
  table.columns = split(text.substr(0, text.find('\n')));
  for (const JournalRun& run : runs) {
    for (Record record : run.results) {
      record.metrics = {};
      text.clear();
      csv.result(record, false);
      table.others += text;
    }
  }
  return table;
}

TEST(RecordKinds, EveryRateOfEveryJournalHasAColumnOfItsOwn) {
  int journals = 0;
  std::set<std::string> benchmarks;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(DUET_RESULTS)) {
    if (entry.path().extension() != ".jsonl") continue;
    const std::vector<JournalRun> runs = load_journal(entry.path().string()).runs;
    const Table table = table_of(runs);
    const std::set<std::string> unique(table.columns.begin(), table.columns.end());
    EXPECT_EQ(unique.size(), table.columns.size()) << entry.path();
    for (const JournalRun& run : runs) {
      for (const Record& record : run.results) {
        benchmarks.insert(record.id.benchmark);
        for (const auto& [rate, value] : record.rates) {
          EXPECT_EQ(unique.count(rate), 1u) << entry.path() << ' ' << rate;
          EXPECT_EQ(table.others.find(rate + "="), std::string::npos) << rate;
        }
      }
    }
    ++journals;
  }
  EXPECT_GT(journals, 100);
  EXPECT_GT(benchmarks.size(), 15u);
}

}  // namespace
}  // namespace duet
