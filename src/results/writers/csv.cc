#include "results/writers/csv.h"

#include <algorithm>
#include <utility>

#include "results/record_kind.h"

namespace duet {
namespace {

struct TimeColumn {
  const char* name;
  double Summary::*value;
};

constexpr TimeColumn kTimeColumns[] = {
    {"median_seconds", &Summary::median}, {"mean_seconds", &Summary::mean},
    {"min_seconds", &Summary::min},       {"p5_seconds", &Summary::p5},
    {"p95_seconds", &Summary::p95},       {"p99_seconds", &Summary::p99},
    {"ci_low_seconds", &Summary::ci_low}, {"ci_high_seconds", &Summary::ci_high}};

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

void add_names(std::vector<std::string>& list, const std::vector<std::string>& more) {
  for (const std::string& name : more) {
    if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
  }
}

// A rate or, if there is none of that name, a metric.
std::string figure(const Record& record, const std::string& name) {
  const double* found = record.rates.find(name);
  if (found == nullptr) found = record.metrics.find(name);
  return found == nullptr ? "" : number_text(*found);
}

// The figures that have no column: "joules=1.5; watts=70.5".
std::string other_figures(const Record& record, const std::vector<std::string>& columns) {
  std::string text;
  for (const ByName<double>* figures : {&record.rates, &record.metrics}) {
    for (const auto& [name, value] : *figures) {
      if (std::find(columns.begin(), columns.end(), name) != columns.end()) continue;
      text += (text.empty() ? "" : "; ") + name + "=" + number_text(value);
    }
  }
  return text;
}

}  // namespace

std::string csv_line(const std::vector<std::string>& cells) {
  std::string text;
  for (const std::string& cell : cells) text += quoted(cell) + ",";
  text.back() = '\n';
  return text;
}

void add_axes(std::vector<std::string>& axes, const CaseId& id) {
  for (const auto& axis : id.axes) {
    if (std::find(axes.begin(), axes.end(), axis.first) == axes.end()) axes.push_back(axis.first);
  }
}

std::vector<std::string> csv_case(const std::vector<std::string>& axes, const CaseId& id) {
  std::vector<std::string> cells = {id.benchmark, id.device, id.engine};
  for (const std::string& axis : axes) {
    const AxisValue* found = id.axes.find(axis);
    cells.push_back(found == nullptr ? "" : axis_text(*found));
  }
  return cells;
}

CsvWriter::CsvWriter(const std::vector<Section>& planned,
                     std::function<void(std::string_view)> write)
    : write_(std::move(write)) {
  for (const Section& section : planned) {
    for (const CaseId& id : section.cases) {
      add_axes(axes_, id);
      add_names(figures_, record_kind(id.benchmark).figures);
    }
  }
  std::vector<std::string> header = {"benchmark", "device", "engine"};
  header.insert(header.end(), axes_.begin(), axes_.end());
  header.emplace_back("outcome");
  for (const TimeColumn& column : kTimeColumns) header.emplace_back(column.name);
  header.insert(header.end(), {"samples", "stopped_by"});
  header.insert(header.end(), figures_.begin(), figures_.end());
  header.emplace_back("other_figures");
  header.insert(header.end(), {"sampling", "flushed", "verified", "reason"});
  write_(csv_line(header));
}

void CsvWriter::result(const Record& record, bool) {
  const bool measured = record.outcome == Outcome::measured;
  const auto flag = [&](bool value) { return !measured ? "" : value ? "true" : "false"; };
  std::vector<std::string> cells = csv_case(axes_, record.id);
  cells.emplace_back(name(record.outcome));
  for (const TimeColumn& column : kTimeColumns) {
    cells.push_back(measured ? number_text(record.seconds.*column.value) : "");
  }
  cells.push_back(measured ? std::to_string(record.seconds.n) : "");
  cells.push_back(record.seconds.stopped_by);
  for (const std::string& name : figures_) cells.push_back(figure(record, name));
  cells.push_back(other_figures(record, figures_));
  cells.insert(cells.end(),
               {record.mode, flag(record.flushed), flag(record.verified), record.reason});
  write_(csv_line(cells));
}

}  // namespace duet
