#include "cli/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "cli/interrupt.h"
#include "core/error.h"
#include "core/units.h"
#include "report/report.h"
#include "results/writers/csv.h"

namespace duet {
namespace {

bool same_file(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::equivalent(a, b, ignored)) return true;
  return fs::weakly_canonical(fs::absolute(a), ignored) ==  // they need not exist
         fs::weakly_canonical(fs::absolute(b), ignored);
}

// --report's value; by default the journal's name with the ending .html. "" if no report is asked
// for.
std::string report_path(const OutputFlags& flags) {
  if (!flags.report) return "";
  if (!flags.report->empty()) {
    check_report_name("--report", *flags.report);
    return *flags.report;
  }
  if (flags.json.empty() || names_standard_output(flags.json)) return kDefaultReport;
  const std::string ending = ".jsonl";
  const std::size_t stem = flags.json.size() - (ends_with(flags.json, ending) ? ending.size() : 0);
  return flags.json.substr(0, stem) + kReportEnding;
}

void check(const OutputFlags& flags) {
  if (flags.quiet && flags.verbose) {
    throw UsageError("--quiet and --verbose: expected one of them");
  }
  if (flags.reproducible && flags.json.empty() && !flags.report) {
    throw UsageError("--reproducible: expected --json or --report as well");
  }
  if (flags.resume && flags.json.empty() && !flags.has_checkpoint) {
    throw UsageError("--resume needs a journal to go on with: expected --json FILE");
  }
  if (flags.resume && names_standard_output(flags.json)) {
    throw UsageError("--resume: expected a journal in a file, not --json " + flags.json);
  }
  if (flags.report && !has_report_page()) {
    throw UsageError("--report: " + no_report_page());
  }
}

// A page may be all that is left of the run that wrote it.
void require_own_report(const std::string& path, bool resume) {
  OutputFile::check_replaceable(path, kReportHead);
  std::error_code ignored;
  if (resume || OutputFile::is_special(path) || !std::filesystem::exists(path, ignored)) return;
  if (std::filesystem::file_size(path, ignored) == 0) return;
  throw UsageError(path + " exists: expected --resume of the run that wrote it, or another name");
}

// The lines that this run's table has for the records of its journal.
std::set<std::string> lines_of_table(const std::vector<Section>& planned,
                                     const JournalContents& journal) {
  std::string text;
  CsvWriter writer(planned, [&](std::string_view more) { text += more; });
  for (const JournalRun& run : journal.runs) {
    for (const Record& record : run.results) writer.result(record, true);
  }
  std::set<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

// Throws UsageError unless the journal has all that the table has. Its last line may be cut short.
void require_own_table(const std::string& path, const std::set<std::string>& own) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto known = own.lower_bound(line);
    const bool begins = known != own.end() && known->compare(0, line.size(), line) == 0;
    if (begins && (file.eof() || *known == line)) continue;
    throw UsageError(path + " has lines that are not of this journal: expected another name");
  }
}

void open_csv(Outputs& outputs, const OutputFlags& flags, const std::vector<Section>& planned) {
  if (flags.csv.empty()) return;
  if (flags.resume) {
    OutputFile::check_replaceable(flags.csv, kCsvHead);
    if (!OutputFile::is_special(flags.csv)) {
      require_own_table(flags.csv, lines_of_table(planned, outputs.earlier));
    }
    outputs.csv.emplace(OutputFile::replace(flags.csv, kCsvHead, interrupted));
  } else {
    outputs.csv.emplace(OutputFile::create(flags.csv, "expected another name", interrupted));
  }
}

// Opens the journal before it reads it, so that no other run appends to it meanwhile.
void open_own_journal(Outputs& outputs, const OutputFlags& flags, const Environment& environment) {
  if (flags.json.empty()) return;
  if (!flags.resume) {
    outputs.journal.emplace(create_journal(flags.json, interrupted));
    return;
  }
  outputs.journal.emplace(open_journal(flags.json));
  outputs.earlier = read_journal(flags.json);
  check_same_processes(flags.json, outputs.earlier, environment);
  check_same_devices(flags.json, outputs.earlier, environment);
}

}  // namespace

void require_different_files(const std::vector<NamedFile>& files) {
  for (auto one = files.begin(); one != files.end(); ++one) {
    for (auto other = files.begin(); other != one; ++other) {
      if (names_standard_output(one->path) && names_standard_output(other->path)) {
        throw UsageError(fmt::format("{} and {}: expected one of them on standard output, not both",
                                     other->flag, one->flag));
      }
      if (one->path.empty() || other->path.empty() || !same_file(one->path, other->path)) continue;
      if (OutputFile::is_special(one->path)) continue;  // both are written to, neither is lost
      throw UsageError(fmt::format("{} and {} both name {}: expected two files", other->flag,
                                   one->flag, one->path));
    }
  }
}

std::ostream& text_stream(const OutputFlags& flags) {
  const bool taken = names_standard_output(flags.json) || names_standard_output(flags.csv) ||
                     names_standard_output(flags.report.value_or("")) ||
                     std::any_of(flags.other_files.begin(), flags.other_files.end(),
                                 [](const auto& each) { return names_standard_output(each.path); });
  return taken ? std::cerr : std::cout;
}

Outputs open_outputs(const OutputFlags& flags, const Environment& environment,
                     const std::vector<Section>& planned) {
  check(flags);
  Outputs outputs;
  outputs.report = report_path(flags);
  std::vector<NamedFile> files = flags.other_files;
  files.insert(files.end(),
               {{"--json", flags.json}, {"--csv", flags.csv}, {"--report", outputs.report}});
  require_different_files(files);
  if (flags.report) require_own_report(outputs.report, flags.resume);
  try {
    open_own_journal(outputs, flags, environment);
    open_csv(outputs, flags, planned);
  } catch (...) {
    if (outputs.journal) outputs.journal->discard();
    throw;
  }
  if (flags.resume && outputs.journal) resume_journal(*outputs.journal, outputs.earlier);
  return outputs;
}

void JournalWriter::result(const Record& record, bool resumed) {
  if (!resumed) file_.write(journal_line(record));
}

ReportWriter::ReportWriter(std::string name, const Outputs& outputs, const Environment& environment)
    : path_(outputs.report) {
  journal_.name = std::move(name);
  journal_.runs = outputs.earlier.runs;
  journal_.warnings = outputs.earlier.warnings;
  journal_.runs.push_back({environment, {}});
}

void ReportWriter::result(const Record& record, bool resumed) {
  if (!resumed) journal_.runs.back().results.push_back(record);
}

void ReportWriter::finish() {
  OutputFile::replace_whole(path_, kReportHead, report_page({journal_}), interrupted);
}

}  // namespace duet
