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
  DeviceInfo device;
  device.name = "cuda:0";
  device.kind = "cuda";
  device.model = "One";
  Environment environment;
  environment.machines = {{"cuda", false, {device}, {}}};
  RunFacts& run = environment.run.emplace();
  run.time_utc = "2026-11-21T0" + std::to_string(hour) + ":00:00Z";
  run.revision = "abc";
  run.host.host_name = host;
  Measurement measurement;
  measurement.id = {"copy", "cuda:0", "duet", {{"kind", std::string("local")}}};
  measurement.cost.memory_bytes = gigabytes * 1e9;
  measurement.sampling.emplace();
  measurement.sampling->samples = {1.0};
  JournalContents contents;
  contents.name = "a.jsonl";
  contents.runs = {{environment, {make_record(measurement)}, journal_line(environment)}};
  return contents;
}

// As of a journal that was made reproducible.
JournalContents timeless_journal(double gigabytes = 10) {
  JournalContents contents = journal(1, gigabytes);
  contents.runs[0].environment.run.reset();
  contents.runs[0].line = journal_line(contents.runs[0].environment);
  return contents;
}

// The journal's first result, of another case.
Record of_kind(const char* kind, const JournalContents& contents) {
  Record result = contents.runs[0].results[0];
  result.id.axes.set("kind", std::string(kind));
  return result;
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
  begun.runs[0].results.clear();
  EXPECT_EQ(store.add(begun, "").figures, 0);
  const AddedRuns again = store.add(whole, "");
  EXPECT_EQ(again.added, 0);
  EXPECT_EQ(again.replaced, 1);
  EXPECT_EQ(store.points({}).size(), 1);
}

// What a store has of a run does not depend on the fields that this version knows.
TEST_F(HistoryTest, ARunIsKnownByItsLine) {
  JournalContents old = journal(1, 10);
  old.runs[0].line = R"({"type":"environment","schema":1,"later":[1]})";
  Store store(path);
  EXPECT_EQ(store.add(old, "").added, 1);
  old.runs[0].environment.processes = 2;
  EXPECT_EQ(store.add(old, "").added, 0);
  old.runs[0].line = "";  // a journal that begins with a result: nothing is known of its run
  EXPECT_EQ(store.add(old, "").figures, 0);
}

// As of two benchmarks whose journals were made reproducible: nothing but their cases differs.
TEST_F(HistoryTest, TwoRunsWithoutATimeOfTheirOwnAreBothKept) {
  Store store(path);
  const auto timeless = [](const char* kind, double gigabytes) {
    JournalContents contents = timeless_journal(gigabytes);
    contents.runs[0].results[0] = of_kind(kind, contents);
    return contents;
  };
  const std::string time = "2026-11-22T00:00:00Z";
  for (const char* kind : {"local", "peer", "pair"}) {
    const AddedRuns added = store.add(timeless(kind, 10), time);
    EXPECT_EQ(added.added, 1) << kind;
    EXPECT_EQ(added.replaced, 0) << kind;
  }
  EXPECT_EQ(store.points({}).size(), 3);
  EXPECT_EQ(store.add(timeless("peer", 10), time).replaced, 1);  // the same once more
  EXPECT_EQ(store.points({}).size(), 3);
  EXPECT_THROW(store.add(timeless("peer", 11), time), UsageError);  // another run
  EXPECT_EQ(store.points({}).size(), 3);
  EXPECT_EQ(store.add(timeless("peer", 11), "2026-11-23T00:00:00Z").added, 1);
}

// Whose parts were added before it, each under a key of its own.
TEST_F(HistoryTest, AWholeRunLeavesRoomForAnother) {
  const auto timeless = [](const std::vector<const char*>& kinds) {
    JournalContents contents = timeless_journal();
    std::vector<Record> results;
    for (const char* kind : kinds) results.push_back(of_kind(kind, contents));
    contents.runs[0].results = results;
    return contents;
  };
  const std::string time = "2026-11-22T00:00:00Z";
  Store store(path);
  EXPECT_EQ(store.add(timeless({"local"}), time).added, 1);
  EXPECT_EQ(store.add(timeless({"peer"}), time).added, 1);
  EXPECT_EQ(store.add(timeless({"local", "peer"}), time).replaced, 1);
  EXPECT_EQ(store.add(timeless({"pair"}), time).added, 1);
  EXPECT_EQ(store.points({}).size(), 3);
}

// As a journal that was resumed.
TEST_F(HistoryTest, PartsOfAJournalWithoutATimeAreBothKept) {
  JournalContents whole = timeless_journal();
  whole.runs.push_back(whole.runs[0]);
  whole.runs[1].results = {of_kind("peer", whole)};
  Store store(path);
  store.add(whole, "2026-11-22T00:00:00Z");
  EXPECT_EQ(store.points({}).size(), 2);
}

TEST_F(HistoryTest, AShorterCopyOfAJournalTakesNothingAway) {
  Store store(path);
  JournalContents whole = journal(1, 10);
  whole.runs[0].results.push_back(of_kind("peer", whole));
  store.add(whole, "");
  const AddedRuns again = store.add(journal(1, 10), "");
  EXPECT_EQ(again.kept, 1);
  EXPECT_EQ(again.added + again.replaced, 0);
  EXPECT_EQ(store.points({}).size(), 2);
}

TEST_F(HistoryTest, ATimeIsOneThatThereIs) {
  for (const char* good :
       {"2026-11-21T02:00:00Z", "2024-02-29T23:59:60Z", "2000-02-29T00:00:00Z"}) {
    EXPECT_TRUE(is_time_utc(good)) << good;
  }
  for (const char* bad : {"", "yesterday", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
                          "2026-00-01T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-00T00:00:00Z",
                          "1900-02-29T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z",
                          "2026-01-01T00:00:61Z", "2026-01-01 00:00:00Z"}) {
    EXPECT_FALSE(is_time_utc(bad)) << bad;
  }
  Store store(path);
  JournalContents wrong = journal(1, 10);
  wrong.runs[0].environment.run->time_utc = "2026-02-30T00:00:00Z";
  EXPECT_THROW(store.add(wrong, ""), UsageError);
}

// SQLite has names that are no files.
TEST_F(HistoryTest, AStoreIsAFile) {
  for (const char* name : {":memory:", "-", "/dev/stdout", "/dev/null"}) {
    EXPECT_THROW(Store{name}, UsageError) << name;
  }
  const fs::path before = fs::current_path();
  fs::current_path(folder);
  Store("file:of-runs?mode=memory").add(journal(1, 10), "");
  EXPECT_TRUE(fs::is_regular_file("file:of-runs?mode=memory"));
  fs::current_path(before);
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
  const JournalContents timeless = timeless_journal();
  EXPECT_THROW(store.add(timeless, ""), UsageError);
  EXPECT_TRUE(store.points({}).empty());
  store.add(timeless, "2026-11-22T00:00:00Z");
  store.add(timeless, "2026-11-23T00:00:00Z");
  EXPECT_EQ(store.points({}).size(), 2);
}

TEST_F(HistoryTest, AFailureLeavesNothingOfAJournal) {
  Store store(path);
  JournalContents two = journal(1, 10);
  two.runs.push_back(timeless_journal().runs[0]);
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
  const Json series = history_series(store.points({}));
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0]["host"], "node7");
  EXPECT_EQ(series[0]["model"], "One");
  EXPECT_EQ(series[0]["times"], Json::array({"2026-11-21T01:00:00Z", "2026-11-21T02:00:00Z"}));
  EXPECT_NEAR(series[0]["values"][1].get<double>(), 2 * series[0]["values"][0].get<double>(), 1e-9);
  EXPECT_EQ(series[1]["revisions"], Json::array({"abc"}));
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
