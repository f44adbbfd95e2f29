// `duet compare`: what changed between two journals.
#include "results/compare.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/standard_output.h"
#include "core/error.h"
#include "results/journal_machines.h"
#include "results/output_file.h"
#include "results/writers/axis_columns.h"
#include "results/writers/comparison_csv.h"
#include "results/writers/comparison_table.h"

namespace duet {
namespace {

constexpr double kMostPercent = 100;

CLI::Validator percentage() {
  const auto check = [](const std::string& text) -> std::string {
    const std::size_t sign = text.find_first_not_of("0123456789.");
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool number = sign > 0 && sign + 1 == text.size() && end == text.c_str() + sign;
    return number && *end == '%' && value <= kMostPercent
               ? ""
               : "'" + text + "' is not a percentage from 0% to 100%: expected one like 5%";
  };
  return CLI::Validator(check, "");
}

std::string one_line(const ComparedCase& one) {
  const std::string where = fmt::format("{} on {}, {}, {}", one.id.benchmark, one.id.device,
                                        one.id.engine, case_text(one.id));
  return one.broke ? where + ": " + verdict_text(one) : where + ": " + change_text(one);
}

// What a gate must not pass over in silence, although it does not fail for it.
void report_uncompared(const std::vector<ComparedCase>& cases) {
  int missing = 0, uncompared = 0;
  for (const ComparedCase& one : cases) {
    missing += one.change == Change::missing ? 1 : 0;
    uncompared += one.change == Change::not_comparable ? 1 : 0;
  }
  if (missing > 0) std::cerr << fmt::format("duet: cases of BASE missing in NEW: {}\n", missing);
  if (uncompared > 0) std::cerr << fmt::format("duet: cases not comparable: {}\n", uncompared);
}

class CompareCommand : public Command {
 public:
  explicit CompareCommand(CLI::App& root)
      : app_(root.add_subcommand(
            "compare",
            "Compare two journals case by case; changed is what the 95% intervals of "
            "the medians leave no doubt about")) {
    app_->add_option("base", base_, "The journal to compare with")->type_name("FILE")->required();
    app_->add_option("new", new_, "The journal that is compared")->type_name("FILE")->required();
    app_->add_option("--fail-on-regression", tolerated_,
                     "Exit with 1 if a case is worse by more than this, or became wrong or failed: "
                     "5%")
        ->type_name("PERCENT")
        ->check(percentage());
    app_->add_flag("--all", all_, "Also show the cases that have not changed");
    app_->add_option("--csv", csv_,
                     "Write a table: a line a case, changed or not; -: to standard output")
        ->type_name("FILE")
        ->check(not_empty());
    app_->add_flag("--across-devices", across_devices_,
                   "Compare journals of different devices: machines are matched in their order, "
                   "their devices by number");
  }

  CLI::App& app() override { return *app_; }

  int run(const std::vector<std::string>&) override {
    const JournalContents base = load_journal(base_);
    const JournalContents now = load_journal(new_);
    for (const JournalContents* journal : {&base, &now}) {
      for (const std::string& warning : journal->warnings) std::cerr << "duet: " << warning << '\n';
    }
    const std::vector<ComparedCase> cases = compare(base, now, across_devices_);
    if (!csv_.empty()) {
      OutputFile::create(csv_, "expected another name").write(comparison_csv(cases));
    }
    show(base, now, cases);
    const bool regressed = !tolerated_.empty() && gate(cases);
    return regressed ? 1 : 0;
  }

 private:
  void show(const JournalContents& base, const JournalContents& now,
            const std::vector<ComparedCase>& cases) const {
    std::ostream& out = names_standard_output(csv_) ? std::cerr : std::cout;
    out << fmt::format("base: {} on {}\nnew:  {} on {}\n\n", base.name,
                       machines_text(machines_in(base.records)), now.name,
                       machines_text(machines_in(now.records)));
    const std::string table = comparison_table(cases, all_);
    if (!table.empty()) out << table << '\n';
    out << comparison_counts(cases);
    if (!csv_.empty() && !names_standard_output(csv_)) out << "; table: " << csv_;
    out << std::endl;
  }

  // Is there a regression? Says which.
  bool gate(const std::vector<ComparedCase>& cases) const {
    report_uncompared(cases);
    const auto found = regressions(cases, std::strtod(tolerated_.c_str(), nullptr));
    if (!found.empty()) {
      std::cerr << fmt::format("duet: worse by more than {}, or broken: {}\n", tolerated_,
                               found.size());
    }
    for (const ComparedCase* one : found) std::cerr << "duet: " << one_line(*one) << '\n';
    return !found.empty();
  }

  CLI::App* app_;
  std::string base_, new_;
  std::string tolerated_;  // "5%"; "": no gate
  std::string csv_;
  bool all_ = false;
  bool across_devices_ = false;
};

}  // namespace

std::unique_ptr<Command> make_compare_command(CLI::App& root) {
  return std::make_unique<CompareCommand>(root);
}

}  // namespace duet
