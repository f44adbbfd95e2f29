#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "core/output_file.h"
#include "report/data.h"
#include "results/journal.h"
#include "results/writers/writer.h"

namespace duet {

// The files that a run writes. They are opened before anything is measured, so that a file which
// cannot be written is an error at once.
struct Outputs {
  JournalContents earlier;  // the journal that is resumed; else empty
  std::optional<OutputFile> journal;
  std::optional<OutputFile> csv;
  std::string report;  // path; "": none
};

// Throws UsageError if two flags name one file, of which one would lose its contents, or standard
// output. Without a path, a flag is not given.
void require_different_files(const std::vector<NamedFile>& files);

// The stream for tables, counts and advice: standard output, or standard error if the journal, the
// table or another file goes to standard output.
std::ostream& text_stream(const OutputFlags& flags);

// Throws UsageError, and Interrupted during the wait for the reader of a FIFO. No new file is left
// behind then.
// A table of this run is replaced by `--resume`, other contents are refused. `planned`: what the
// table will have.
Outputs open_outputs(const OutputFlags& flags, const Environment& environment,
                     const std::vector<Section>& planned);

// Writes each new record to the journal at once.
class JournalWriter : public Writer {
 public:
  explicit JournalWriter(OutputFile& file) : file_(file) {}
  void begin(const Section&) override {}
  void result(const Record& record, bool resumed) override;
  void end() override {}

 private:
  OutputFile& file_;
};

// Keeps the runs that the journal of the run would hold, and writes the report from them.
class ReportWriter : public Writer {
 public:
  // `name` is the journal's name on the page.
  ReportWriter(std::string name, const Outputs& outputs, const Environment& environment);
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
