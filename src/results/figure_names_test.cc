// The table of each journal in docs/results: names of columns are unique, and every rate has a
// column.
#include "results/figure_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "results/journal.h"
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

Table table_of(const std::vector<Record>& records) {
  Section section;
  for (const Record& record : records) {
    if (record["type"] == "result" && outcome_of(record) != Outcome::derived) {
      section.cases.push_back(case_of(record));
    }
  }
  std::string text;
  CsvWriter csv({section}, [&](std::string_view more) { text += more; });
  Table table;
  table.columns = split(text.substr(0, text.find('\n')));
  for (const Record& record : records) {
    if (record["type"] != "result") continue;
    Record without_metrics = record;
    without_metrics.erase("metrics");
    text.clear();
    csv.result(without_metrics, false);
    table.others += text;
  }
  return table;
}

TEST(FigureNames, EveryRateOfEveryJournalHasAColumnOfItsOwn) {
  int journals = 0;
  std::set<std::string> benchmarks;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(DUET_RESULTS)) {
    if (entry.path().extension() != ".jsonl") continue;
    const std::vector<Record> records = load_journal(entry.path().string()).records;
    const Table table = table_of(records);
    const std::set<std::string> unique(table.columns.begin(), table.columns.end());
    EXPECT_EQ(unique.size(), table.columns.size()) << entry.path();
    for (const Record& record : records) {
      if (record["type"] != "result") continue;
      benchmarks.insert(record["benchmark"]);
      if (!record.contains("rates")) continue;
      for (const auto& rate : record["rates"].items()) {
        EXPECT_EQ(unique.count(rate.key()), 1u) << entry.path() << ' ' << rate.key();
        EXPECT_EQ(table.others.find(rate.key() + "="), std::string::npos) << rate.key();
      }
    }
    ++journals;
  }
  EXPECT_GT(journals, 100);
  EXPECT_GT(benchmarks.size(), 15u);
}

}  // namespace
}  // namespace duet
