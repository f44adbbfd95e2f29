#include "report/report.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/flags.h"
#include "core/error.h"
#include "results/journal.h"
#include "results/output_file.h"

namespace duet {
namespace {

class ReportCommand : public Command {
 public:
  explicit ReportCommand(CLI::App& root)
      : app_(root.add_subcommand("report",
                                 "Make one HTML page from one or several journals: verdicts, "
                                 "charts, environment, all records")) {
    app_->add_option("journal", journals_,
                     "Journals that --json wrote; several are shown side by side")
        ->type_name("FILE...");
    app_->add_option("-o,--output", output_, "Page to write; default report.html")
        ->type_name("FILE.html")
        ->check(not_empty());
  }

  CLI::App& app() override { return *app_; }

  int run(const std::vector<std::string>&) override {
    if (journals_.empty()) throw UsageError("report: expected the journals to show");
    check_report_name("-o", output_);
    if (!has_report_page()) throw Unavailable(no_report_page());
    OutputFile::check_replaceable(output_, kReportHead);
    std::vector<ReportJournal> journals;
    for (const std::string& path : journals_) {
      JournalContents contents = load_journal(path);
      for (const std::string& warning : contents.warnings) complain(warning);
      journals.push_back({path, std::move(contents.records), contents.warnings});
    }
    OutputFile::replace_whole(output_, kReportHead, report_page(journals));
    std::cout << "report: " << output_ << '\n';
    return 0;
  }

 private:
  CLI::App* app_;
  std::vector<std::string> journals_;
  std::string output_ = kDefaultReport;
};

}  // namespace

std::unique_ptr<Command> make_report_command(CLI::App& root) {
  return std::make_unique<ReportCommand>(root);
}

}  // namespace duet
