#include "results/writers/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/plain_text.h"
#include "core/units.h"
#include "results/rates.h"
#include "results/record_kind.h"
#include "results/writers/pivot.h"
#include "results/writers/remarks.h"
#include "results/writers/short_table.h"
#include "results/writers/text_table.h"

namespace duet {
namespace {

constexpr const char* kBold = "1";
constexpr const char* kDim = "2";
constexpr const char* kRed = "31";

constexpr std::size_t kShortDerived = 6;  // most lines of results that follow from cases

// The line for copies whose times no straight line fits: their axes, and the reason.
std::string no_fit_line(const AxisColumns& axes, const Record& record) {
  const std::vector<Column> columns = axes.columns();
  const std::vector<std::string> cells = axes.cells(record.id);
  std::string of;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i].empty())
      of += fmt::format("{}{} {}", of.empty() ? "" : ", ", columns[i].heading, cells[i]);
  }
  return fmt::format("  no fit{}{}: {}\n", of.empty() ? "" : " of ", of,
                     record.notes.value("no_fit"));
}

}  // namespace

StyledText ConsoleWriter::paint(const char* code, const std::string& text) const {
  return {colour_ ? code : "", text};
}

void ConsoleWriter::begin(const Section& section) {
  results_.clear();
  benchmark_ = section.benchmark;
  matrix_only_ = matrix_only(section.cases);
  axes_ = AxisColumns(section.cases);
  columns_ = axes_.columns();
  columns_.push_back({"median", Align::right, 10});
  columns_.push_back({"rate", Align::right, 12});
  columns_.push_back({"+-", Align::right, 5});
  out_ << (first_ ? "" : "\n");
  first_ = false;
  out_ << paint(kBold, one_line(section.benchmark + " on " + section.machine));
  out_ << (section.hardware.empty() ? "" : " (" + one_line(section.hardware) + ")") << '\n';
  if (!axes_.shared().empty()) out_ << one_line(axes_.shared()) << '\n';
  if (detail_ == Detail::every_case) out_ << "\n  " << paint(kDim, table_header(columns_)) << '\n';
  out_.flush();
}

// Prints a line of the table that has words instead of figures.
void ConsoleWriter::say(const Record& record, const char* code, const std::string& words) {
  std::vector<Column> columns = axes_.columns();
  columns.push_back({});
  std::vector<std::string> cells = axes_.cells(record.id);
  cells.push_back(one_line(trim(words + ": " + record.reason)));  // as a row ends without blanks
  std::string line = table_row(columns, cells);
  const std::size_t at = line.size() - cells.back().size();
  out_ << "  " << line.substr(0, at) << paint(code, line.substr(at)) << std::endl;
}

void ConsoleWriter::result(const Record& record, bool) {
  results_.push_back(record);
  if (detail_ == Detail::every_case) show(record);
}

void ConsoleWriter::show(const Record& record) {
  switch (record.outcome) {
    case Outcome::measured: {
      if (matrix_only_.count(case_key(record.id)) > 0) break;
      std::vector<std::string> cells = axes_.cells(record.id);
      cells.push_back(format_seconds(record.seconds.median));
      cells.push_back(main_rate(record) + doubt_mark(record));
      cells.push_back(interval_text(record.seconds));
      // The result of a search is the shape that it found.
      if (const std::string* shape = record.notes.find("shape")) cells.push_back(*shape);
      if (const auto more = record_kind(record.id.benchmark).more_text) {
        if (const std::string text = more(record); !text.empty()) cells.push_back(text);
      }
      out_ << "  " << table_row(columns_, cells) << std::endl;
      break;
    }
    case Outcome::derived:
      break;  // shown at the end
    case Outcome::skipped:
      say(record, kDim, "skipped");
      break;
    case Outcome::wrong:
      say(record, kRed, "WRONG");
      break;
    case Outcome::failed:
      say(record, kRed, "failed");
      break;
  }
}

// The results of one benchmark that follow from cases, as one table.
std::string ConsoleWriter::summary(const std::string& benchmark) const {
  std::vector<CaseId> cases;
  std::vector<const Record*> derived;
  std::vector<std::string> rates;
  for (const Record& record : results_) {
    if (record.outcome != Outcome::derived || record.id.benchmark != benchmark) continue;
    derived.push_back(&record);
    cases.push_back(record.id);
    for (const auto& rate : record.rates) {
      if (std::find(rates.begin(), rates.end(), rate.first) == rates.end()) {
        rates.push_back(rate.first);
      }
    }
  }
  const AxisColumns axes(cases, record_kind(benchmark).answer);
  std::string without;
  std::vector<Column> columns = axes.columns();
  for (const std::string& rate : rates) columns.push_back({rate_heading(rate), Align::right});
  std::vector<std::vector<std::string>> rows;
  for (const Record* record : derived) {
    if (record->notes.contains("no_fit")) {
      without += no_fit_line(axes, *record);
      continue;
    }
    rows.push_back(axes.cells(record->id));
    for (const std::string& rate : rates) {
      const double* found = record->rates.find(rate);
      rows.back().push_back(found != nullptr ? rate_text(rate, *found) : "");
    }
  }
  return fmt::format("\n  {}: {}\n", benchmark, one_line(axes.shared())) +
         (rows.empty() ? "" : table(columns, rows, "  ")) + without;
}

std::string ConsoleWriter::summaries() const {
  std::vector<std::string> kinds;
  for (const Record& record : results_) {
    const std::string& kind = record.id.benchmark;
    const bool known = std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
    if (record.outcome == Outcome::derived && !known) kinds.push_back(kind);
  }
  std::string text;
  for (const std::string& kind : kinds) {
    const auto sentences = record_kind(kind).sentences;
    const std::string part = sentences != nullptr ? sentences(results_) : summary(kind);
    const std::size_t heading = sentences != nullptr ? 1 : 3;  // lines
    const auto lines = static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n'));
    const bool is_short =
        lines <= kShortDerived + heading && (sentences != nullptr || width_of(part) <= kShortWidth);
    if (detail_ == Detail::every_case || is_short) {
      text += part;
    } else {
      text += fmt::format("\n  {}: {} {}: --verbose\n", kind, lines - heading,
                          lines - heading == 1 ? "line" : "lines");
    }
  }
  return text;
}

// Each warning once, with the number of cases that have it. Warnings that differ only in numbers
// count as one.
std::string ConsoleWriter::warnings() const {
  struct Seen {
    std::string text;
    int count = 0;
  };
  std::map<std::string, Seen> seen;
  for (const Record& record : results_) {
    for (const std::string& text : record.warnings) {
      Seen& same = seen[without_numbers(text)];
      if (++same.count == 1) same.text = text;
      if (same.text != text) same.text = without_numbers(text);
    }
  }
  std::string text = seen.empty() ? "" : "\n";
  for (const auto& [key, one] : seen) {
    text += fmt::format("  {} {}: {}\n", one.count, one.count == 1 ? "case" : "cases",
                        one_line(one.text));
  }
  return text;
}

void ConsoleWriter::end() {
  if (detail_ == Detail::every_case) {
    if (!matrix_only_.empty()) {
      out_ << fmt::format("  and {} pairs, in the matrix below\n", matrix_only_.size());
    }
    out_ << pair_matrices(results_);
  } else {
    const std::string figures = short_table(benchmark_, results_);
    const std::string missing = missing_lines(results_);
    out_ << figures << (missing.empty() ? "" : "\n") << missing;
  }
  if (const auto tables = record_kind(benchmark_).tables) {
    const std::string text = tables(results_);
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    const bool is_short = results_.size() <= kShortDerived || lines <= kShortRows;
    if (detail_ == Detail::every_case || is_short) out_ << text;
  }
  out_ << summaries() << warnings() << interval_lines(results_) << doubt_line(results_);
  out_.flush();
}

}  // namespace duet
