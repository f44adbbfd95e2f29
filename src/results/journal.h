// The journal is a file of JSON Lines with one record a line (docs/results.md). It is written after
// every case, so that a run which is killed loses no measured case.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/output_file.h"
#include "results/record.h"

namespace duet {

// The results that follow an environment.
struct JournalRun {
  Environment environment;
  std::vector<Record> results;
  // The environment's line as a journal has it, unknown fields included. "": of no journal, or a
  // journal whose first line is a result, so that nothing is known of its first run.
  std::string line = {};
};

struct JournalContents {
  std::string name;  // for messages: the path
  std::vector<JournalRun> runs;
  std::vector<RunEnd> ends;           // of runs that reached their end
  std::vector<std::string> warnings;  // for the user: the last line was cut short
  std::uint64_t good_bytes = 0;       // up to the end of the last whole record
  bool newline_missing = false;       // the last record is whole, but its newline is missing

  // The last result of each case, by case_key().
  std::map<std::string, const Record*> by_case() const;
};

// The last result of each case, in the order in which the cases first appear.
std::vector<const Record*> results_that_count(const std::vector<JournalRun>& runs);

// What is read of a result. `figures` leaves out, unread, samples, sensors, timelines and curves:
// most of a journal's bytes.
enum class JournalParts { all, figures };

// Parses a journal's text; `name` names it in messages. A last line that was cut short is dropped,
// with a warning. Throws UsageError "NAME:LINE: ..." on a line that is not one of this schema, and
// no other error on any bytes.
JournalContents parse_journal(const std::string& name, std::string_view text,
                              JournalParts parts = JournalParts::all);

// Throws UsageError as parse_journal does, and if the file cannot be read. A missing file counts as
// an empty journal.
JournalContents read_journal(const std::string& path, JournalParts parts = JournalParts::all);

// For commands that need a journal. Throws UsageError also if the file is missing, has no result,
// or uses one name for two machines. The caller shows the warnings.
JournalContents load_journal(const std::string& path);

// Throws UsageError if a run of the journal was on other devices, or other models, than those of
// `environment`, the new run's record: one journal must not mix their figures.
void check_same_devices(const std::string& path, const JournalContents& contents,
                        const Environment& environment);

// Throws UsageError if a run of the journal had another number of processes than `environment`: the
// same case then has other ranks or other transports.
void check_same_processes(const std::string& path, const JournalContents& contents,
                          const Environment& environment);

// Opens the file of a new journal. Throws what OutputFile::create() throws.
OutputFile create_journal(const std::string& path, const OutputFile::Stop& stop = {});
// To resume a journal: open it, which locks it against other runs, then read it, then call
// resume_journal(), which cuts an incomplete last record off. Throw UsageError.
OutputFile open_journal(const std::string& path);
void resume_journal(OutputFile& file, const JournalContents& contents);

// One line with its newline. Bytes that are not UTF-8 are replaced.
std::string journal_line(const Environment& environment);
std::string journal_line(const Record& record);
std::string journal_line(const RunEnd& end);

}  // namespace duet
