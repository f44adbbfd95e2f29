#include "cli/outputs.h"

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/interrupt.h"
#include "core/error.h"
#include "core/units.h"
#include "report/report.h"
#include "results/writers/csv.h"

namespace duet {
namespace {

// Compares the names alone: the files need not exist.
bool same_file(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  return !a.empty() && !b.empty() &&
         fs::weakly_canonical(fs::absolute(a), ignored) ==
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
  if (names_standard_output(flags.json) && names_standard_output(flags.csv)) {
    throw UsageError("--json and --csv: expected one of them on standard output, not both");
  }
  if (same_file(flags.csv, flags.json) && !OutputFile::is_special(flags.json)) {
    throw UsageError("--json and --csv both name " + flags.json + ": expected two files");
  }
  if (flags.report && !has_report_page()) {
    throw UsageError("--report: " + no_report_page());
  }
}

void open_csv(Outputs& outputs, const OutputFlags& flags) {
  if (flags.csv.empty()) return;
  // A table of an earlier run may be replaced: the journal has all its figures.
  if (flags.resume && !names_standard_output(flags.csv)) {
    outputs.csv.emplace(OutputFile::replace(flags.csv, kCsvHead, interrupted));
  } else {
    outputs.csv.emplace(OutputFile::create(flags.csv, "expected another name", interrupted));
  }
}

// Opens the journal before it reads it, so that no other run appends to it meanwhile.
void open_own_journal(Outputs& outputs, const OutputFlags& flags, const Record& environment) {
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

std::ostream& text_stream(const OutputFlags& flags) {
  const bool taken = names_standard_output(flags.json) || names_standard_output(flags.csv);
  return taken ? std::cerr : std::cout;
}

Outputs open_outputs(const OutputFlags& flags, const Record& environment) {
  check(flags);
  Outputs outputs;
  outputs.report = report_path(flags);
  if (flags.report) {
    if (same_file(outputs.report, flags.json) || same_file(outputs.report, flags.csv)) {
      throw UsageError("--report and another flag both name " + outputs.report +
                       ": expected two files");
    }
    OutputFile::check_replaceable(outputs.report, kReportHead);
  }
  try {
    open_own_journal(outputs, flags, environment);
    open_csv(outputs, flags);
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

ReportWriter::ReportWriter(std::string name, const Outputs& outputs, const Record& environment)
    : path_(outputs.report) {
  journal_.name = std::move(name);
  journal_.records = outputs.earlier.records;
  journal_.warnings = outputs.earlier.warnings;
  journal_.records.push_back(environment);
}

void ReportWriter::result(const Record& record, bool resumed) {
  if (!resumed) journal_.records.push_back(record);
}

void ReportWriter::finish() {
  OutputFile::replace_whole(path_, kReportHead, report_page({journal_}), interrupted);
}

}  // namespace duet
