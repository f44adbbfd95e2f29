// `duet compare`: compares two sides of one or several journals each.
#include "results/compare.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/flags.h"
#include "cli/outputs.h"
#include "cli/standard_output.h"
#include "core/error.h"
#include "core/output_file.h"
#include "core/terminal.h"
#include "results/host_load.h"
#include "results/journal_machines.h"
#include "results/writers/axis_columns.h"
#include "results/writers/comparison.h"

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

// True if a case has a figure on both sides, or broke. Otherwise writes a message: two journals
// with skipped cases alone do not count as equal.
bool compared_any(const std::vector<ComparedCase>& cases) {
  for (const ComparedCase& one : cases) {
    const bool figures = one.change == Change::worse || one.change == Change::better ||
                         one.change == Change::unchanged || one.change == Change::too_noisy;
    if (figures) return true;
  }
  complain("nothing was compared: no case has a figure in both journals");
  return false;
}

// Reports changes that do not fail the gate but must be visible.
void report_uncompared(const std::vector<ComparedCase>& cases) {
  int missing = 0, uncompared = 0;
  for (const ComparedCase& one : cases) {
    missing += one.change == Change::missing ? 1 : 0;
    uncompared += one.change == Change::not_comparable ? 1 : 0;
  }
  if (missing > 0) complain(fmt::format("cases of BASE missing in NEW: {}", missing));
  if (uncompared > 0) complain(fmt::format("cases not comparable: {}", uncompared));
}

constexpr const char* kExpectedSides =
    "expected BASE NEW, several a side as BASE... : NEW..., or --base FILE --new FILE";

// The names of both sides' journals, from arguments with a ":" between the sides or from flags.
struct SideNames {
  std::vector<std::string> base, now;
};

SideNames names_of_words(const std::vector<std::string>& words) {
  const auto colon = std::find(words.begin(), words.end(), ":");
  if (colon == words.end() && words.size() == 2) return {{words[0]}, {words[1]}};
  if (colon == words.end()) {
    throw UsageError(fmt::format("compare: {}; {} given", kExpectedSides, words.size()));
  }
  return {{words.begin(), colon}, {colon + 1, words.end()}};
}

void check_names(const SideNames& names) {
  for (const auto* side : {&names.base, &names.now}) {
    if (side->empty()) throw UsageError(fmt::format("compare: {}", kExpectedSides));
    for (auto one = side->begin(); one != side->end(); ++one) {
      if (*one == ":") throw UsageError(fmt::format("compare: two ':': {}", kExpectedSides));
      if (std::find(one + 1, side->end(), *one) == side->end()) continue;
      throw UsageError(fmt::format(
          "compare: {} is there twice on one side: expected journals of different runs", *one));
    }
  }
}

std::vector<JournalContents> load_journals(const std::vector<std::string>& names) {
  std::vector<JournalContents> journals;
  for (const std::string& name : names) journals.push_back(load_journal(name));
  return journals;
}

JournalSide side_of(const std::vector<JournalContents>& journals) {
  JournalSide side;
  for (const JournalContents& journal : journals) side.push_back(&journal);
  return side;
}

// The share of the CPU that other programs used during the journal's runs.
void report_load(const JournalContents& journal) {
  for (const RunEnd& end : journal.ends) {
    const LoadShare load{end.load.others.value_or(0), end.load.steal.value_or(0)};
    if (!is_high(load)) continue;
    complain(fmt::format("{}: the machine was busy: {}", journal.name, load_text(load)));
    return;
  }
}

// Reports cases whose noise is larger than the change that the gate should detect.
void report_blind(const std::vector<ComparedCase>& cases, double tolerated) {
  int measured = 0, blind = 0;
  for (const ComparedCase& one : cases) {
    if (!one.noise && !one.difference_noise) continue;
    const double percent = one.noise ? *one.noise : 100 * *one.difference_noise;
    ++measured;
    blind += percent > std::max(tolerated, kPlainPercent) ? 1 : 0;
  }
  if (blind == 0) return;
  complain(fmt::format(
      "in {} of {} cases the noise is above {:.0f}%: several journals per side reduce it", blind,
      measured, std::max(tolerated, kPlainPercent)));
}

class CompareCommand : public Command {
 public:
  explicit CompareCommand(CLI::App& root)
      : Command(root.add_subcommand(
            "compare",
            "Compare journals case by case, with one or several runs per side; differences within "
            "the noise between runs do not count as changes")) {
    app_->add_option("journals", words_,
                     "The journal to compare with and the journal to compare: BASE NEW; several "
                     "runs per side, which show how much runs differ: BASE... : NEW...")
        ->type_name("FILE");
    app_->add_option("--base", names_.base,
                     "A journal to compare with, in place of a positional argument")
        ->type_name("FILE")
        ->allow_extra_args(false)
        ->check(not_empty());
    app_->add_option("--new", names_.now, "A journal to compare, in place of a positional argument")
        ->type_name("FILE")
        ->allow_extra_args(false)
        ->check(not_empty());
    app_->add_option("--fail-on-regression", tolerated_,
                     "Exit with 1 if a case is worse by more than this (such as 5%), or became "
                     "wrong or failed")
        ->type_name("PERCENT")
        ->check(percentage());
    app_->add_flag("--all", all_, "Also show the cases that did not change");
    app_->add_option("--csv", csv_,
                     "Write a table with one line per case, changed or not; -: to standard output")
        ->type_name("FILE")
        ->check(not_empty());
    app_->add_option("--json", json_,
                     "Write the comparison as one JSON document; -: to standard output")
        ->type_name("FILE")
        ->check(not_empty());
    app_->add_flag("--across-devices", across_devices_,
                   "Compare journals of different devices: machines are matched by their order, "
                   "devices by number");
  }

  int run(const std::vector<std::string>&) override {
    const SideNames names = sides();
    require_different_files({{"--csv", csv_}, {"--json", json_}});
    const std::vector<JournalContents> base = load_journals(names.base);
    const std::vector<JournalContents> now = load_journals(names.now);
    for (const auto* side : {&base, &now}) {
      for (const JournalContents& journal : *side) {
        for (const std::string& warning : journal.warnings) {
          complain(warning);
        }
        report_load(journal);
      }
    }
    const std::vector<ComparedCase> cases = compare(side_of(base), side_of(now), across_devices_);
    write_files(side_of(base), side_of(now), cases);
    show(base, now, cases);
    const bool regressed = !tolerated_.empty() && gate(cases);
    return regressed || !compared_any(cases) ? 1 : 0;
  }

 private:
  // Both files or, if one of them cannot be written, none.
  void write_files(const JournalSide& base, const JournalSide& now,
                   const std::vector<ComparedCase>& cases) const {
    constexpr const char* kAdvice = "expected another name";
    std::optional<OutputFile> csv, json;
    if (!csv_.empty()) csv.emplace(OutputFile::create(csv_, kAdvice));
    try {
      if (!json_.empty()) json.emplace(OutputFile::create(json_, kAdvice));
    } catch (const UsageError&) {
      if (csv) csv->discard();
      throw;
    }
    if (csv) csv->write(comparison_csv(cases));
    if (json) json->write(comparison_json(base, now, cases));
  }

  SideNames sides() const {
    const bool flags = !names_.base.empty() || !names_.now.empty();
    if (flags && !words_.empty()) {
      throw UsageError("compare: journals as words and by --base or --new: expected one of both");
    }
    const SideNames names = flags ? names_ : names_of_words(words_);
    check_names(names);
    return names;
  }

  static void show_side(std::ostream& out, const char* side,
                        const std::vector<JournalContents>& journals) {
    for (const JournalContents& journal : journals) {
      out << fmt::format("{} {} on {}\n", side, journal.name,
                         machines_text(machines_in(journal.runs)));
    }
  }

  void show(const std::vector<JournalContents>& base, const std::vector<JournalContents>& now,
            const std::vector<ComparedCase>& cases) const {
    const bool taken = names_standard_output(csv_) || names_standard_output(json_);
    std::ostream& out = taken ? std::cerr : std::cout;
    show_side(out, "base:", base);
    show_side(out, "new: ", now);
    out << '\n';
    const std::size_t width = terminal_width(taken ? STDERR_FILENO : STDOUT_FILENO);
    const std::string table = comparison_table(cases, all_, width > 0 ? width : SIZE_MAX);
    if (!table.empty()) out << table << '\n';
    const std::string benchmarks = comparison_benchmarks(cases);
    if (!benchmarks.empty()) out << benchmarks << '\n';
    out << comparison_counts(cases);
    if (!csv_.empty() && !names_standard_output(csv_)) out << "; table: " << csv_;
    if (!json_.empty() && !names_standard_output(json_)) out << "; JSON: " << json_;
    const std::string noise = comparison_noise(cases);
    if (!noise.empty()) out << '\n' << noise;
    out << std::endl;
  }

  // True if there is a regression. Prints all regressions.
  bool gate(const std::vector<ComparedCase>& cases) const {
    const double tolerated = std::strtod(tolerated_.c_str(), nullptr);
    report_uncompared(cases);
    report_blind(cases, tolerated);
    const auto found = regressions(cases, tolerated);
    if (!found.empty()) {
      complain(fmt::format("worse by more than {}, or broken: {}", tolerated_, found.size()));
    }
    for (const ComparedCase* one : found) complain(one_line(*one));
    return !found.empty();
  }

  std::vector<std::string> words_;
  SideNames names_;        // given by flags
  std::string tolerated_;  // "5%"; "": no gate
  std::string csv_, json_;
  bool all_ = false;
  bool across_devices_ = false;
};

}  // namespace

DUET_DEFINE_COMMAND(compare, CompareCommand)

}  // namespace duet
