#include "health/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/plain_text.h"
#include "core/units.h"
#include "results/writers/axis_columns.h"

namespace duet {
namespace {

const char* name_of(Status status) {
  return status == Status::ok ? "ok" : status == Status::failed ? "FAIL" : "unknown";
}

std::string shown(const CaseId& id) {
  return fmt::format("{} {} ({} on {})", id.benchmark, case_text(id), id.engine, id.device);
}

std::string text_of(const Figure& figure) {
  const Verdict& verdict = figure.verdict;
  std::string text =
      fmt::format("{}: {}{}: {} {}", shown(figure.id), verdict.simulated ? "simulated " : "",
                  name(verdict.word), format_rate(verdict.value), verdict.rate);
  if (verdict.expected) text += fmt::format(", expected {}", format_rate(*verdict.expected));
  return text;
}

// "ecc 4 ok, links 3 ok 1 FAIL, pcie 4 unknown".
std::string check_counts(const std::vector<Check>& checks) {
  std::vector<std::string> names;
  std::map<std::string, std::map<Status, int>> counts;
  for (const Check& check : checks) {
    if (counts.find(check.name) == counts.end()) names.push_back(check.name);
    ++counts[check.name][check.status];
  }
  std::string text;
  for (const std::string& each : names) {
    text += (text.empty() ? "" : ", ") + each;
    for (const auto& [status, count] : counts[each]) {
      text += fmt::format(" {} {}", count, name_of(status));
    }
  }
  return text;
}

// "21 figures PASS, 4 without expectation"; those of simulated machines are no measurements and
// counted apart.
std::string figure_counts(const HealthReport& report) {
  int passed = 0, simulated = 0, open = 0, busy = 0, skipped = 0;
  for (const Figure& figure : report.figures) {
    const bool pass = figure.verdict.word == Word::pass;
    (figure.verdict.simulated ? simulated : passed) += pass ? 1 : 0;
    open += figure.verdict.word == Word::no_expectation ? 1 : 0;
    busy += figure.verdict.word == Word::busy ? 1 : 0;
  }
  for (const Miss& miss : report.missed) skipped += miss.outcome == Outcome::skipped ? 1 : 0;
  std::string text;
  if (passed > 0 || simulated == 0) text = fmt::format("{} figures PASS", passed);
  if (simulated > 0) {
    text += fmt::format("{}{} simulated figures PASS", text.empty() ? "" : ", ", simulated);
  }
  if (busy > 0) text += fmt::format(", {} unknown: busy", busy);
  if (open > 0) text += fmt::format(", {} without expectation", open);
  if (skipped > 0) text += fmt::format(", {} skipped", skipped);
  return text;
}

}  // namespace

void Figures::result(const Record& record, bool) {
  if (record.outcome == Outcome::measured) evaluator_.see(record);
  records_.push_back(record);
}

bool Figures::doubtful(const Record& record) const {
  if (record.outcome != Outcome::measured) return false;
  return is_doubt(evaluator_.evaluate(record).word);
}

std::vector<Figure> Figures::judged() const {
  std::vector<Figure> figures;
  for (const Record& record : records_) {
    if (record.outcome != Outcome::measured) continue;
    figures.push_back({record.id, evaluator_.evaluate(record)});
  }
  return figures;
}

std::vector<Miss> Figures::missed() const {
  std::vector<Miss> missed;
  for (const Record& record : records_) {
    const Outcome outcome = record.outcome;
    if (outcome == Outcome::measured || outcome == Outcome::derived) continue;
    missed.push_back({record.id, outcome, record.reason});
  }
  return missed;
}

std::vector<std::string> faults(const HealthReport& report) {
  std::vector<std::string> texts;
  for (const Check& check : report.checks) {
    if (check.status == Status::failed)
      texts.push_back(fmt::format("{}: {}", check.device, check.text));
  }
  for (const Miss& miss : report.missed) {
    if (miss.outcome == Outcome::skipped) continue;
    texts.push_back(fmt::format("{}: {}: {}", shown(miss.id), name(miss.outcome), miss.reason));
  }
  for (const Figure& figure : report.figures) {
    if (is_doubt(figure.verdict.word)) texts.push_back(text_of(figure));
  }
  if (!report.stopped.empty()) texts.push_back(report.stopped);
  return texts;
}

std::string one_line_of(const HealthReport& report, std::size_t most) {
  const std::vector<std::string> wrong = faults(report);
  const char* word = !wrong.empty() ? "FAIL" : report.interrupted ? "STOPPED" : "OK";
  std::string line = fmt::format("duet health: {} {}: ", word, report.host);
  if (report.interrupted) line += "interrupted; ";
  for (std::size_t i = 0; i < std::min(most, wrong.size()); ++i) line += wrong[i] + "; ";
  if (wrong.size() > most) line += fmt::format("{} more faults; ", wrong.size() - most);
  if (!report.figures.empty() || !report.missed.empty()) line += figure_counts(report) + "; ";
  if (!report.load.empty()) line += "load: " + report.load + "; ";
  if (!report.checks.empty()) line += check_counts(report.checks) + "; ";
  return one_line(line + fmt::format("{:.0f} s", report.seconds));
}

std::string lines_of(const HealthReport& report) {
  std::string lines;
  for (const Check& check : report.checks) {
    lines += fmt::format("{} {}: {}: {}\n", check.device, check.name, name_of(check.status),
                         one_line(check.text));
  }
  for (const Figure& figure : report.figures) lines += one_line(text_of(figure)) + '\n';
  for (const Miss& miss : report.missed) {
    lines +=
        one_line(fmt::format("{}: {}: {}", shown(miss.id), name(miss.outcome), miss.reason)) + '\n';
  }
  return lines;
}

}  // namespace duet
