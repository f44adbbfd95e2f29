// Feeds mutants of other tools' output to `duet import`'s readers, which may throw UsageError and
// nothing else. What they accept must be a journal that its reader takes.
//
//     import_fuzz CORPUS COUNT
#include "core/error.h"
#include "importing/import.h"
#include "reader_fuzz.h"
#include "results/journal.h"

namespace duet {
namespace {

bool accepts(const std::string& text) {
  ImportOptions options;
  options.collective = "all_gather";
  JournalRun run;
  try {
    run = import_run("mutant", text, options);
  } catch (const UsageError&) {
    return false;
  }
  std::string journal = journal_line(run.environment);
  for (const Record& record : run.results) journal += journal_line(record);
  const JournalContents contents = parse_journal("mutant", journal);
  if (contents.runs.size() != 1 || contents.runs[0].results.size() != run.results.size()) {
    throw Error("the journal has other records");
  }
  return true;
}

}  // namespace
}  // namespace duet

int main(int argc, char** argv) { return duet::fuzz_reader(argc, argv, duet::accepts); }
