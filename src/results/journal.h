// The journal: a file of JSON Lines, one record a line, written after every case so that whatever
// ends a run loses nothing that was measured. docs/results.md describes it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "results/output_file.h"
#include "results/record.h"

namespace duet {

struct JournalContents {
  std::string name;                   // as messages call it: the path
  std::vector<Record> records;        // environments and results
  std::vector<Record> ends;           // of runs that came to one
  std::vector<std::string> warnings;  // a last line that was cut short
  std::uint64_t good_bytes = 0;       // up to the end of the last whole record
  bool newline_missing = false;       // the last record is whole, but its newline is not there

  // The last result of each case, by case_key().
  std::map<std::string, const Record*> by_case() const;
};

// Places of the results that count: the last one of each case, the cases in the order in which they
// first appear.
std::vector<std::size_t> results_that_count(const std::vector<Record>& records);

// A journal's text; `name` stands for it in messages. Throws UsageError "NAME:LINE: ..." on a line
// that is not a record of this schema, and nothing else whatever the bytes are; every record that
// it returns has passed check_record. A last line without its end is dropped and warned of.
JournalContents parse_journal(const std::string& name, std::string_view text);

// Throws UsageError as parse_journal does, and if the file cannot be read; no file is an empty
// journal.
JournalContents read_journal(const std::string& path);

// For commands that need a journal: throws UsageError also if there is no such file or no result in
// it. Whoever calls shows the warnings.
JournalContents load_journal(const std::string& path);

// Throws UsageError if the journal's runs were on other devices than the new run's environment
// record names, or on other models of them: their figures do not belong together.
void check_same_devices(const std::string& path, const JournalContents& contents,
                        const Record& environment);

// Throws UsageError if one of the journal's runs was of another number of processes: the same case
// is another then, of other ranks or by other ways.
void check_same_processes(const std::string& path, const JournalContents& contents,
                          const Record& environment);

// The file for a new journal.
OutputFile create_journal(const std::string& path, const OutputFile::Stop& stop = {});
// The journal that is gone on with, opened before it is read so that no other run adds to it, and
// without what is not whole in it.
OutputFile open_journal(const std::string& path);
void resume_journal(OutputFile& file, const JournalContents& contents);

std::string journal_line(const Record& record);

}  // namespace duet
