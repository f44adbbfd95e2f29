// `duet import`: output of other tools as a journal.
#include "importing/import.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "cli/command.h"
#include "cli/flag_values.h"
#include "cli/flags.h"
#include "collectives/collective.h"
#include "core/error.h"
#include "core/output_file.h"
#include "core/units.h"
#include "results/journal.h"
#include "results/journal_machines.h"
#include "verdict/summary.h"

namespace duet {
namespace {

std::string contents_of(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored)) {
    throw UsageError(fmt::format("{} cannot be read: expected a file with output of a tool", path));
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

// The last record of a case counts, so that one of two runs of a case would be lost.
void check_other_cases(std::map<std::string, std::string>& file_of_case, const std::string& file,
                       const JournalRun& run) {
  for (const Record& record : run.results) {
    const auto [known, fresh] = file_of_case.emplace(case_key(record.id), file);
    if (fresh || known->second == file) continue;
    throw UsageError(fmt::format(
        "{} and {} have a case in common: expected other cases; import runs of the same cases "
        "into journals of their own, which duet compare takes together",
        known->second, file));
  }
}

std::string verdicts_of(const JournalRun& run) {
  VerdictSummary summary(run.environment);
  for (const Record& record : run.results) summary.result(record, false);
  return summary.text();
}

class ImportCommand : public Command {
 public:
  explicit ImportCommand(CLI::App& root)
      : Command(
            root.add_subcommand("import",
                                "Convert output of nccl-tests, nvbandwidth, OSU micro-benchmarks "
                                "or TransferBench into a journal, for compare and report")) {
    app_->add_option("files", files_,
                     "Output of the tools (or the file of nccl-tests -J); the tool is recognised "
                     "from the contents")
        ->type_name("FILE...");
    add("--out", out_, "FILE.jsonl", "The journal to write; -: to standard output");
    add("--collective", options_.collective, "NAME",
        "The collective, such as all_reduce, if the output of nccl-tests does not name the "
        "program");
    add("--bytes", bytes_, "SIZE",
        "The buffer size of nvbandwidth (its --bufferSize), which its output does not contain");
    offer(*app_, "--collective", [] { return names_of(all_collectives()); });
  }

  int run(const std::vector<std::string>&) override {
    if (files_.empty()) throw UsageError("import: expected files with output of a tool");
    if (out_.empty()) throw UsageError("import: expected --out FILE.jsonl, the journal to write");
    if (!bytes_.empty()) options_.bytes = bytes_of_text();
    const std::vector<JournalRun> runs = read_all();
    std::string journal;
    for (const JournalRun& run : runs) {
      journal += journal_line(run.environment);
      for (const Record& record : run.results) journal += journal_line(record);
    }
    OutputFile::create(out_, "expected another name").write(journal);
    show(runs);
    return 0;
  }

 private:
  std::uint64_t bytes_of_text() const {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
    const std::uint64_t bytes = parse_bytes(bytes_);
    if (bytes > 0 && bytes <= kMost) return bytes;
    throw UsageError(fmt::format("--bytes {}: expected 1 to 4 EiB", bytes_));
  }

  std::vector<JournalRun> read_all() const {
    std::vector<JournalRun> runs;
    std::map<std::string, std::string> file_of_case;
    for (const std::string& file : files_) {
      runs.push_back(import_run(file, contents_of(file), options_));
      check_other_cases(file_of_case, file, runs.back());
    }
    machines_by_name(out_, runs);  // refuses one name for two machines
    return runs;
  }

  void show(const std::vector<JournalRun>& runs) const {
    std::ostream& text = names_standard_output(out_) ? std::cerr : std::cout;
    for (const JournalRun& run : runs) {
      const ByName<std::string>& imported = run.environment.imported;
      text << fmt::format("{}: {} cases of {} ({})\n", imported.value("file"), run.results.size(),
                          imported.value("tool"), imported.value("form"))
           << verdicts_of(run);
    }
    text << "journal: " << out_ << '\n';
  }

  std::vector<std::string> files_;
  std::string out_, bytes_;
  ImportOptions options_;
};

}  // namespace

DUET_DEFINE_COMMAND(import, ImportCommand)

}  // namespace duet
