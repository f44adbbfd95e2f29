#include "results/journal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/message_fixture.h"
#include "results/record_json.h"

namespace duet {
namespace {

class Journal : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  void store(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  std::string stored() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  // The message of the error that reading throws, "" if it succeeds.
  std::string complaint() const {
    return message_of<UsageError>([&] { read_journal(path_); });
  }

  // The results of all runs.
  static std::size_t results_in(const JournalContents& contents) {
    std::size_t results = 0;
    for (const JournalRun& run : contents.runs) results += run.results.size();
    return results;
  }
  static Record skipped(int m, const std::string& reason) {
    Measurement measurement;
    measurement.id = {"gemm", "host", "onednn", {{"m", std::int64_t{m}}}};
    measurement.skipped = Skipped{reason};
    return make_record(measurement);
  }
  static Environment environment(const std::string& name, const std::string& model) {
    DeviceInfo device;
    device.name = name + ":0";
    device.model = model;
    Environment made;
    made.machines = {{name, false, {device}, {}}};
    return made;
  }

  const std::string path_ =
      ::testing::TempDir() + "duet_journal_test_" + std::to_string(getpid()) + ".jsonl";
};

TEST_F(Journal, NoFileAndAnEmptyFileAreEmptyJournals) {
  EXPECT_TRUE(read_journal(path_).runs.empty());
  store("");
  EXPECT_TRUE(read_journal(path_).runs.empty());
}

TEST_F(Journal, ReadsWhatWasWritten) {
  OutputFile file = create_journal(path_);
  file.write(journal_line(environment("host", "CPU")));
  file.write(journal_line(skipped(1, "first")));
  file.write(journal_line(skipped(1, "second")));
  const JournalContents contents = read_journal(path_);
  ASSERT_EQ(contents.runs.size(), 1u);
  EXPECT_EQ(contents.runs[0].environment.machines.size(), 1u);
  EXPECT_EQ(contents.runs[0].results.size(), 2u);
  EXPECT_EQ(contents.good_bytes, std::filesystem::file_size(path_));
  const auto by_case = contents.by_case();
  ASSERT_EQ(by_case.size(), 1u);
  EXPECT_EQ(by_case.begin()->second->reason, "second");
}

TEST_F(Journal, FiguresAreReadWithoutTheirSamples) {
  Measurement measurement;
  measurement.id = {"gemm", "host", "onednn", {{"m", std::string("\"samples\":[1}")}}};
  measurement.sampling.emplace();
  measurement.sampling->samples = {1, 2, 3};
  measurement.sampling->mode = "adaptive";
  measurement.notes = {{"samples", "in \\ a note"}};
  measurement.timeline = {{{0, 1}, {0, 1}}};
  const Record whole = make_record(measurement);
  ASSERT_EQ(whole.samples.size(), 3u);
  store(journal_line(environment("host", "CPU")) + journal_line(whole));
  const Record figures = read_journal(path_, JournalParts::figures).runs.at(0).results.at(0);
  EXPECT_TRUE(figures.samples.empty() && figures.timeline.empty());
  Record same = whole;
  same.samples.clear();
  same.timeline.clear();
  EXPECT_EQ(journal_line(figures), journal_line(same));
  EXPECT_EQ(read_journal(path_).runs.at(0).results.at(0).samples.size(), 3u);
  for (const char* broken :
       {"{", "}", "{}}", "[1,2]\n", "{\"type\":\"result\",\"schema\":1,,}\n"}) {
    store(broken);
    const auto all = message_of<UsageError>([&] { read_journal(path_); });
    const auto some = message_of<UsageError>([&] { read_journal(path_, JournalParts::figures); });
    EXPECT_EQ(all.empty(), some.empty()) << broken;
  }
}

TEST_F(Journal, ALineCutShortIsDroppedAndResumingRemovesIt) {
  const std::string whole = journal_line(skipped(1, "a"));
  store(whole + whole.substr(0, 20));
  const JournalContents contents = read_journal(path_);
  EXPECT_EQ(results_in(contents), 1u);
  ASSERT_EQ(contents.warnings.size(), 1u);
  EXPECT_TRUE(contains(contents.warnings[0], path_ + ":2:"));
  OutputFile file = open_journal(path_);
  resume_journal(file, contents);
  file.write(journal_line(skipped(2, "b")));
  EXPECT_EQ(stored(), whole + journal_line(skipped(2, "b")));
}

TEST_F(Journal, ALastRecordWithoutItsNewlineIsKept) {
  const std::string whole = journal_line(skipped(1, "a"));
  store(whole.substr(0, whole.size() - 1));
  const JournalContents contents = read_journal(path_);
  EXPECT_EQ(results_in(contents), 1u);
  OutputFile file = open_journal(path_);
  resume_journal(file, contents);
  file.write(journal_line(skipped(2, "b")));
  EXPECT_EQ(stored(), whole + journal_line(skipped(2, "b")));
}

TEST_F(Journal, DamageIsNamedWithItsLine) {
  const std::string whole = journal_line(skipped(1, "a"));
  store(whole + "{nonsense\n" + whole);
  EXPECT_EQ(complaint(), path_ + ":2: not a JSON record");
  store(whole + "[1]\n");
  EXPECT_TRUE(contains(complaint(), ":2: not a record"));
  Json incomplete = to_json(skipped(1, "a"));
  incomplete.erase("engine");
  store(incomplete.dump() + "\n");
  EXPECT_EQ(complaint(), path_ + ":1: \"engine\" is missing: expected a text");
}

TEST_F(Journal, BytesThatAreNoJsonAreRefusedWithTheirLine) {
  std::string nul = journal_line(skipped(1, "a"));
  nul.insert(nul.size() - 1, std::string("\0{}", 3));  // a parser may take NUL for the end
  const std::string utf8 = "{\"type\":\"\xff\"}\n";
  for (const std::string& bad : {nul, utf8, std::string("\n"), std::string("{\"n\":1e999}\n")}) {
    store(bad);
    EXPECT_EQ(complaint(), path_ + ":1: not a JSON record");
  }
  store(std::string(100000, '[') + "\n");
  EXPECT_EQ(complaint(), path_ + ":1: nested deeper than 32 levels");
  // Brackets inside a text do not nest.
  store(journal_line(skipped(1, std::string(100, '[') + "\"" + std::string(100, '{'))));
  EXPECT_EQ(complaint(), "");
}

TEST_F(Journal, LinesMayEndInCarriageReturns) {
  std::string text = journal_line(skipped(1, "a"));
  text.insert(text.size() - 1, "\r");
  store(text + text);
  EXPECT_EQ(results_in(read_journal(path_)), 2u);
}

TEST_F(Journal, OfAFieldThatIsThereTwiceTheLastCounts) {
  std::string text = journal_line(skipped(1, "a"));
  text.insert(1, "\"outcome\":[[7]],");
  store(text);
  EXPECT_EQ(read_journal(path_).runs.at(0).results.at(0).outcome, Outcome::skipped);
}

TEST_F(Journal, WhoNeedsAJournalIsToldWhatIsThereInstead) {
  const auto refusal = [&] { return message_of<UsageError>([&] { load_journal(path_); }); };
  const std::string wanted = ": expected a journal, as --json writes";
  EXPECT_EQ(refusal(), path_ + ": no such file" + wanted);
  store("");
  EXPECT_EQ(refusal(), path_ + ": empty" + wanted);
  store(journal_line(environment("host", "CPU")) + "{\"type\":\"res");
  EXPECT_EQ(refusal(), path_ + ": without any result" + wanted + " (" + path_ +
                           ":2: the last record was cut short; it is dropped)");
  store(journal_line(environment("cuda:0", "NVIDIA H200")) + journal_line(skipped(1, "a")) +
        journal_line(environment("cuda:0", "NVIDIA H100")));
  EXPECT_EQ(refusal(), path_ +
                           ": holds runs on cuda:0:0 = NVIDIA H200 and on cuda:0:0 = NVIDIA H100: "
                           "expected one machine of a name");
  store(journal_line(skipped(1, "a")) + "{\"type\":\"res");
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(load_journal(path_).warnings.size(), 1u);
}

TEST_F(Journal, AnotherSchemaIsRefused) {
  Json record = to_json(skipped(1, "a"));
  record["schema"] = kJournalSchema + 1;
  store(record.dump() + "\n");
  EXPECT_TRUE(contains(complaint(), "reads schema"));
}

TEST_F(Journal, AnExistingFileIsNotWrittenOver) {
  store("precious\n");
  EXPECT_THROW(create_journal(path_), UsageError);
  EXPECT_EQ(stored(), "precious\n");
}

TEST_F(Journal, ADirectoryIsNoJournal) {
  EXPECT_THROW(read_journal(::testing::TempDir()), UsageError);
  EXPECT_THROW(create_journal(::testing::TempDir()), UsageError);
  EXPECT_THROW(create_journal("/nowhere/at/all.jsonl"), UsageError);
}

TEST_F(Journal, AWholeFileIsReplacedOnlyIfItBeginsAsItShould) {
  const std::string head = "<!-- page -->\n";
  OutputFile::check_replaceable(path_, head);
  EXPECT_FALSE(std::filesystem::exists(path_));  // looking changes nothing
  OutputFile::replace_whole(path_, head, head + "one");
  OutputFile::replace_whole(path_, head, head + "two");
  EXPECT_EQ(stored(), head + "two");
  store("precious\n");
  EXPECT_THROW(OutputFile::replace_whole(path_, head, head), UsageError);
  EXPECT_EQ(stored(), "precious\n");
}

// A name that can be predicted could be a link that somebody else has put there.
TEST_F(Journal, AWholeFileIsWrittenThroughNoLink) {
  const std::string precious = path_ + ".precious";
  std::ofstream(precious) << "precious\n";
  std::filesystem::create_symlink(precious, path_ + ".part");
  const std::string head = "<!-- page -->\n";
  OutputFile::replace_whole(path_, head, head + "one");
  EXPECT_EQ(stored(), head + "one");
  std::string text;
  std::getline(std::ifstream(precious), text);
  EXPECT_EQ(text, "precious");
  std::filesystem::remove(path_ + ".part");
  std::filesystem::remove(precious);
}

TEST_F(Journal, DiscardRemovesOnlyWhatWasMade) {
  create_journal(path_).discard();
  EXPECT_FALSE(std::filesystem::exists(path_));
  store("");
  create_journal(path_).discard();
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(Journal, OtherDevicesAreRefused) {
  store(journal_line(environment("cuda:0", "NVIDIA H200")));
  const JournalContents contents = read_journal(path_);
  EXPECT_NO_THROW(check_same_devices(path_, contents, environment("cuda:0", "NVIDIA H200")));
  EXPECT_THROW(check_same_devices(path_, contents, environment("cuda:0", "NVIDIA H100")),
               UsageError);
  EXPECT_THROW(check_same_devices(path_, contents, environment("host", "CPU")), UsageError);
}

TEST_F(Journal, AnotherNumberOfProcessesIsRefused) {
  const Environment alone = environment("host", "CPU");
  Environment pair = alone;
  pair.processes = 2;
  store(journal_line(pair));
  const JournalContents contents = read_journal(path_);
  EXPECT_NO_THROW(check_same_processes(path_, contents, pair));
  EXPECT_THROW(check_same_processes(path_, contents, alone), UsageError);
  pair.processes = 3;
  EXPECT_THROW(check_same_processes(path_, contents, pair), UsageError);
  // Nothing is known of the run of results before the first environment.
  const Record first = make_record({"copy", "host", "duet", {}}, Failure{false, "x"});
  EXPECT_NO_THROW(check_same_processes("j", parse_journal("j", journal_line(first)), pair));
}

TEST_F(Journal, InUseByAnotherFileOfThisProcessIsRefused) {
  const OutputFile first = create_journal(path_);
  EXPECT_THROW(create_journal(path_), UsageError);
  EXPECT_THROW(open_journal(path_), UsageError);
}

}  // namespace
}  // namespace duet
