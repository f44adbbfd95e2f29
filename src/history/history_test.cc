#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "history/table.h"

namespace duet {
namespace {

namespace fs = std::filesystem;

// A journal of one run at a time of day, with one copy at a rate.
JournalContents journal(int hour, double gigabytes, const std::string& host = "node7") {
  Record environment = {{"type", "environment"}, {"schema", kJournalSchema}};
  const Record device = {{"name", "cuda:0"}, {"kind", "cuda"}, {"model", "One"}};
  environment["machines"] =
      Record::array({{{"name", "cuda"}, {"devices", Record::array({device})}}});
  environment["run"] = {{"time_utc", "2026-11-21T0" + std::to_string(hour) + ":00:00Z"},
                        {"revision", "abc"},
                        {"host", {{"name", host}}}};
  Measurement measurement;
  measurement.id = {"copy", "cuda:0", "duet", {{"kind", std::string("local")}}};
  measurement.cost.memory_bytes = gigabytes * 1e9;
  measurement.sampling.emplace();
  measurement.sampling->samples = {1.0};
  JournalContents contents;
  contents.name = "a.jsonl";
  contents.records = {environment, make_record(measurement)};
  return contents;
}

class HistoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "historyXXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
    path = folder / "store";
    try {
      Database database(folder / "probe");
    } catch (const Unavailable& error) {
      GTEST_SKIP() << error.what();
    }
  }
  void TearDown() override { fs::remove_all(folder); }

  fs::path folder;
  std::string path;
};

TEST_F(HistoryTest, FiguresComeByTimeWhateverTheOrderOfAdding) {
  Store store(path);
  for (const int hour : {2, 1, 3}) {
    const AddedRuns added = store.add(journal(hour, 10.0 * hour), "");
    EXPECT_EQ(added.added, 1);
    EXPECT_EQ(added.replaced, 0);
    EXPECT_GE(added.figures, 1);
  }
  const std::vector<HistoryPoint> points = Store(path).points({});
  ASSERT_EQ(points.size(), 3);
  EXPECT_EQ(points[0].time_utc, "2026-11-21T01:00:00Z");
  EXPECT_NEAR(points[0].value, 10, 1e-9);
  EXPECT_NEAR(points[2].value, 30, 1e-9);
  EXPECT_EQ(points[2].model, "One");
  EXPECT_EQ(points[2].host, "node7");
  EXPECT_EQ(points[2].rate, "gb_per_s");
}

TEST_F(HistoryTest, ARunThatIsAddedAgainCountsOnce) {
  Store store(path);
  const JournalContents whole = journal(1, 10);
  JournalContents begun = whole;
  begun.records.resize(1);
  EXPECT_EQ(store.add(begun, "").figures, 0);
  const AddedRuns again = store.add(whole, "");
  EXPECT_EQ(again.added, 0);
  EXPECT_EQ(again.replaced, 1);
  EXPECT_EQ(store.points({}).size(), 1);
}

TEST_F(HistoryTest, FiltersByWordsDeviceAndRate) {
  Store store(path);
  store.add(journal(1, 10, "node7"), "");
  store.add(journal(1, 20, "node8"), "");
  EXPECT_EQ(store.points({{"copy", "local"}, "", ""}).size(), 2);
  EXPECT_EQ(store.points({{"copy", "peer"}, "", ""}).size(), 0);
  EXPECT_EQ(store.points({{}, "node8", ""}).size(), 1);
  EXPECT_EQ(store.points({{}, "One", ""}).size(), 2);
  EXPECT_EQ(store.points({{}, "", "tflops"}).size(), 0);
}

TEST_F(HistoryTest, AJournalWithoutATimeNeedsOneAndAddsNothing) {
  Store store(path);
  JournalContents timeless = journal(1, 10);
  timeless.records[0].erase("run");
  EXPECT_THROW(store.add(timeless, ""), UsageError);
  EXPECT_TRUE(store.points({}).empty());
  store.add(timeless, "2026-11-22T00:00:00Z");
  store.add(timeless, "2026-11-23T00:00:00Z");
  EXPECT_EQ(store.points({}).size(), 2);
}

TEST_F(HistoryTest, AFailureLeavesNothingOfAJournal) {
  Store store(path);
  JournalContents two = journal(1, 10);
  JournalContents timeless = journal(2, 10);
  timeless.records[0].erase("run");
  two.records.insert(two.records.end(), timeless.records.begin(), timeless.records.end());
  EXPECT_THROW(store.add(two, ""), UsageError);
  EXPECT_TRUE(store.points({}).empty());
}

TEST_F(HistoryTest, OtherDatabasesAreLeftAlone) {
  Database(path).run("CREATE TABLE other (a)");
  EXPECT_THROW(Store{path}, UsageError);
  EXPECT_EQ(Database(path).run("SELECT count(*) FROM sqlite_master").at(0).at(0),
            SqlValue(std::int64_t{1}));
}

TEST_F(HistoryTest, TheReportsSeriesHaveAllRunsByTime) {
  Store store(path);
  store.add(journal(2, 10), "");
  store.add(journal(1, 5), "");
  store.add(journal(3, 7, "node8"), "");
  const Record series = history_series(store.points({}));
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0]["host"], "node7");
  EXPECT_EQ(series[0]["model"], "One");
  EXPECT_EQ(series[0]["times"], Record::array({"2026-11-21T01:00:00Z", "2026-11-21T02:00:00Z"}));
  EXPECT_NEAR(series[0]["values"][1].get<double>(), 2 * series[0]["values"][0].get<double>(), 1e-9);
  EXPECT_EQ(series[1]["revisions"], Record::array({"abc"}));
}

TEST_F(HistoryTest, TheTableHasAllRunsOfAFigureInOneLine) {
  Store store(path);
  for (const int hour : {1, 2, 3}) store.add(journal(hour, hour == 3 ? 9 : 10), "");
  const std::string text = history_table(store.points({}));
  EXPECT_NE(text.find("cuda:0, One on node7\n"), std::string::npos) << text;
  EXPECT_NE(text.find("-10.0%"), std::string::npos) << text;
  const std::string lines = history_over_time(store.points({}));
  EXPECT_NE(lines.find("2026-11-21T03:00:00Z  abc"), std::string::npos) << lines;
  EXPECT_EQ(history_csv(store.points({})).find("time_utc,host,revision,"), 0);
}

}  // namespace
}  // namespace duet
