#include "report/report.h"

#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/flags.h"
#include "core/error.h"
#include "core/output_file.h"
#include "history/table.h"
#include "results/journal.h"
#include "results/writers/axis_columns.h"

namespace duet {
namespace {

// A figure, of whatever device: benchmark, engine, case.
using FigureName = std::tuple<std::string, std::string, std::string>;

std::set<FigureName> figures_in(const std::vector<ReportJournal>& journals) {
  std::set<FigureName> names;
  for (const ReportJournal& journal : journals) {
    for (const JournalRun& run : journal.runs) {
      for (const Record& record : run.results) {
        if (record.rates.empty()) continue;
        names.emplace(record.id.benchmark, record.id.engine, case_text(record.id));
      }
    }
  }
  return names;
}

class ReportCommand : public Command {
 public:
  explicit ReportCommand(CLI::App& root)
      : Command(root.add_subcommand("report",
                                    "Make one HTML page from one or several journals: verdicts, "
                                    "charts, environment, all records")) {
    app_->add_option("journal", journals_,
                     "Journals that --json wrote; several are shown side by side")
        ->type_name("FILE...");
    app_->add_option("-o,--output", output_,
                     "Page to write; default report.html; -: to standard output")
        ->type_name("FILE.html")
        ->check(not_empty());
    add("--store", store_, "FILE",
        "A store of duet history: also show the journals' figures over time, on all its devices");
  }

  int run(const std::vector<std::string>&) override {
    if (journals_.empty()) throw UsageError("report: expected the journals to show");
    check_report_name("-o", output_);
    if (!has_report_page()) throw Unavailable(no_report_page());
    OutputFile::check_replaceable(output_, kReportHead);
    if (!store_.empty() && !std::filesystem::is_regular_file(store_)) {
      throw UsageError(fmt::format("--store {}: there is no such store", store_));
    }
    std::vector<ReportJournal> journals;
    for (const std::string& path : journals_) {
      JournalContents contents = load_journal(path);
      for (const std::string& warning : contents.warnings) complain(warning);
      journals.push_back({path, std::move(contents.runs), contents.warnings});
    }
    OutputFile::replace_whole(output_, kReportHead, report_page(journals, history_of(journals)));
    if (!names_standard_output(output_)) std::cout << "report: " << output_ << '\n';
    return 0;
  }

 private:
  Json history_of(const std::vector<ReportJournal>& journals) const {
    if (store_.empty()) return {};
    const std::set<FigureName> wanted = figures_in(journals);
    std::vector<HistoryPoint> points;
    for (HistoryPoint& point : Store(store_).points({})) {
      if (wanted.count({point.benchmark, point.engine, point.case_text}) > 0) {
        points.push_back(std::move(point));
      }
    }
    if (points.empty()) {
      throw UsageError(fmt::format("store {}: has no figure of these journals", store_));
    }
    return history_series(points);
  }

  std::string store_;
  std::vector<std::string> journals_;
  std::string output_ = kDefaultReport;
};

}  // namespace

DUET_DEFINE_COMMAND(report, ReportCommand)

}  // namespace duet
