#include "run/suite_summary.h"

#include <fmt/format.h>

#include "results/rates.h"
#include "results/writers/axis_columns.h"
#include "results/writers/short_table.h"
#include "results/writers/text_table.h"

namespace duet {
namespace {

// The widths are fixed, because a line is printed before the later ones are known.
const std::vector<Column>& columns() {
  static const std::vector<Column> all = {{"benchmark", Align::left, 10},
                                          {"on", Align::left, 12},
                                          {"best", Align::left, 16},
                                          {"verdict", Align::left, 14},
                                          {"of"}};
  return all;
}

std::string cut_to(std::string text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

// The main rate without further figures: "0.97 of ideal" from "0.97 of ideal, bound 0.95". For an
// overlap that is no faster than serial execution: "no gain (-0.04)".
std::string figure_text(const Record& record, double value) {
  const std::string rate = main_rate(record);
  if (record.rates.empty() && value <= 0) {
    return fmt::format("no gain ({})", rate.substr(0, rate.find(' ')));
  }
  return rate.substr(0, rate.find(','));
}

}  // namespace

SuiteSummary::SuiteSummary(std::ostream& out, const Environment& environment,
                           const std::vector<JournalRun>& earlier)
    : out_(out), verdicts_(environment, earlier) {}

void SuiteSummary::begin(const Section& section) {
  if (first_) out_ << "  " << table_header(columns()) << std::endl;
  first_ = false;
  benchmark_ = section.benchmark;
  machine_ = section.machine;
  best_.reset();
  doubts_before_ = verdicts_.doubts();
  why_nothing_.clear();
}

void SuiteSummary::result(const Record& record, bool resumed) {
  if (record.outcome == Outcome::derived) return;
  if (record.outcome != Outcome::measured) {
    if (why_nothing_.empty())
      why_nothing_ = fmt::format("{}: {}", name(record.outcome), record.reason);
    return;
  }
  verdicts_.result(record, resumed);
  const std::optional<double> value = main_value(record);
  if (!value || record.id.benchmark != benchmark_)
    return;  // a peak is the reference of other figures, not a result
  if (!best_ || *value > best_->value) best_ = Best{*value, record};
}

std::string SuiteSummary::verdict_text() const {
  const Word word = verdicts_.word(best_->record);
  const std::string own = word == Word::no_expectation ? "-" : name(word);
  const int doubts = verdicts_.doubts() - doubts_before_;
  return doubts == 0 ? own : fmt::format("{}; {} in doubt", own, doubts);
}

void SuiteSummary::end() {
  std::vector<std::string> cells = {benchmark_, machine_};
  if (best_) {
    const CaseId& id = best_->record.id;
    cells.insert(cells.end(), {figure_text(best_->record, best_->value), verdict_text(),
                               id.engine + ", " + case_text(id)});
    out_ << "  " << cut_to(table_row(columns(), cells), kShortWidth - 2) << std::endl;
    return;
  }
  cells.push_back(why_nothing_.empty() ? "nothing measured" : why_nothing_);
  out_ << "  " << table_row(columns(), cells) << std::endl;
}

}  // namespace duet
