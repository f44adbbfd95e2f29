#include "results/writers/csv.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "results/figure_names.h"

namespace duet {
namespace {

constexpr const char* kTimeColumns[] = {"median", "mean", "min",    "p5",
                                        "p95",    "p99",  "ci_low", "ci_high"};
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// The value record[object][key] as text, "" if it is missing.
std::string value(const Record& record, const char* object, const std::string& key) {
  if (!record.contains(object) || !record[object].contains(key)) return "";
  const Record& found = record[object][key];
  return found.is_string() ? found.get<std::string>() : found.dump();
}

std::string flag(const Record& record, const char* key) {
  return record.contains(key) ? record[key].dump() : "";
}

void add_names(std::vector<std::string>& list, const std::vector<std::string>& more) {
  for (const std::string& name : more) {
    if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
  }
}

// A rate or, if there is none of that name, a metric.
std::string figure(const Record& record, const std::string& name) {
  const std::string rate = value(record, "rates", name);
  return rate.empty() ? value(record, "metrics", name) : rate;
}

// The figures that have no column: "joules=1.5; watts=70.5".
std::string other_figures(const Record& record, const std::vector<std::string>& columns) {
  std::string text;
  for (const char* object : {"rates", "metrics"}) {
    if (!record.contains(object)) continue;
    for (const auto& [name, amount] : record[object].items()) {
      if (std::find(columns.begin(), columns.end(), name) != columns.end()) continue;
      text += (text.empty() ? "" : "; ") + name + "=" + amount.dump();
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
      add_names(figures_, figure_names(id.benchmark));
    }
  }
  std::vector<std::string> header = {"benchmark", "device", "engine"};
  header.insert(header.end(), axes_.begin(), axes_.end());
  header.emplace_back("outcome");
  for (const char* key : kTimeColumns) header.push_back(std::string(key) + "_seconds");
  header.insert(header.end(), {"samples", "stopped_by"});
  header.insert(header.end(), figures_.begin(), figures_.end());
  header.emplace_back("other_figures");
  header.insert(header.end(), {"sampling", "flushed", "verified", "reason"});
  write_(csv_line(header));
}

void CsvWriter::result(const Record& record, bool) {
  std::vector<std::string> cells = csv_case(axes_, case_of(record));
  cells.emplace_back(name(outcome_of(record)));
  for (const char* key : kTimeColumns) cells.push_back(value(record, "seconds", key));
  cells.push_back(value(record, "seconds", "n"));
  cells.push_back(value(record, "seconds", "stopped_by"));
  for (const std::string& name : figures_) cells.push_back(figure(record, name));
  cells.push_back(other_figures(record, figures_));
  cells.push_back(record.value("mode", ""));
  cells.push_back(flag(record, "flushed"));
  cells.push_back(flag(record, "verified"));
  cells.push_back(reason_of(record));
  write_(csv_line(cells));
}

}  // namespace duet
