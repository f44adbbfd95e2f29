// `duet trace`: when the parts of measured calls ran, as a file for Perfetto and chrome://tracing.
#include <fmt/format.h>

#include <iostream>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/flag_values.h"
#include "cli/flags.h"
#include "cli/lists.h"
#include "core/error.h"
#include "core/output_file.h"
#include "report/trace_file.h"
#include "results/writers/axis_columns.h"

namespace duet {
namespace {

class TraceCommand : public Command {
 public:
  explicit TraceCommand(CLI::App& root)
      : Command(root.add_subcommand("trace",
                                    "Show when the parts of measured calls ran, in Perfetto or "
                                    "chrome://tracing: make a trace of journals")) {
    app_->add_option("journal", journals_, "Journals that --json wrote")->type_name("FILE...");
    app_->add_option("-o,--output", output_,
                     "Trace to write; default trace.json; -: to standard output")
        ->type_name("FILE.json")
        ->check(not_empty());
    add("--match", match_, "WORDS",
        "Only the cases whose line contains all of these words: 'layer pieces 8192'");
  }

  int run(const std::vector<std::string>&) override {
    if (journals_.empty()) throw UsageError("trace: expected journals that --json wrote");
    OutputFile::check_replaceable(output_, kTraceHead);
    std::vector<JournalContents> contents;
    for (const std::string& path : journals_) {
      contents.push_back(load_journal(path));
      for (const std::string& warning : contents.back().warnings) complain(warning);
    }
    const TraceFile file = trace_file(contents, words_of(match_));
    if (file.cases == 0) {
      throw UsageError(fmt::format(
          "trace: no case{} tells when its parts ran: expected journals of duet overlap, of duet "
          "layer, or of duet train with --breakdown or --data",
          match_.empty() ? "" : fmt::format(" with the words '{}'", match_)));
    }
    OutputFile::replace_whole(output_, kTraceHead, file.text);
    if (!names_standard_output(output_))
      std::cout << fmt::format("trace: {}, cases: {}\n", output_, file.cases);
    return 0;
  }

 private:
  std::vector<std::string> journals_;
  std::string output_ = "trace.json", match_;
};

}  // namespace

DUET_DEFINE_COMMAND(trace, TraceCommand)

}  // namespace duet
