// The files that a run writes: journal, table and report, opened before anything is measured so
// that a name that cannot be written is said at once.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "report/data.h"
#include "results/journal.h"
#include "results/output_file.h"
#include "results/writers/writer.h"

namespace duet {

struct Outputs {
  JournalContents earlier;  // of the journal that is gone on with
  std::optional<OutputFile> journal;
  std::optional<OutputFile> csv;
  std::string report;  // path; "": none
};

// Where tables, counts and advice go: standard output, or standard error where the journal or the
// table has standard output to itself.
std::ostream& text_stream(const OutputFlags& flags);

// Throws UsageError, and Interrupted while nobody reads a FIFO, and then has left no file behind.
Outputs open_outputs(const OutputFlags& flags, const Record& environment);

// Stores each new record, and flushes it to the file system's hands.
class JournalWriter : public Writer {
 public:
  explicit JournalWriter(OutputFile& file) : file_(file) {}
  void begin(const Section&) override {}
  void result(const Record& record, bool resumed) override;
  void end() override {}

 private:
  OutputFile& file_;
};

// Keeps what a journal of the run would hold, and makes the report of it.
class ReportWriter : public Writer {
 public:
  // `name`: what the page calls the journal.
  ReportWriter(std::string name, const Outputs& outputs, const Record& environment);
  void begin(const Section&) override {}
  void result(const Record& record, bool resumed) override;
  void end() override {}
  // Writes the page; throws Error if the file system refuses.
  void finish();

 private:
  std::string path_;
  ReportJournal journal_;
};

}  // namespace duet
