#include "results/writers/csv.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace duet {
namespace {

constexpr const char* kTimeColumns[] = {"median", "mean", "min",    "p5",
                                        "p95",    "p99",  "ci_low", "ci_high"};
constexpr const char* kRates[] = {"tflops", "gb_per_s"};
// The metrics of overlap, in the order of docs/overlap.md.
constexpr const char* kMetrics[] = {"fraction_of_ideal", "bound",
                                    "speedup",           "ideal_speedup",
                                    "compute_slowdown",  "communication_slowdown",
                                    "compute_seconds",   "communication_seconds",
                                    "engine_seconds"};

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

// The values of `object` that have no column: "latency_us=1.5; n_half_bytes=65536".
template <typename Names>
std::string others(const Record& record, const char* object, const Names& columns) {
  std::string text;
  if (!record.contains(object)) return text;
  for (const auto& [name, amount] : record[object].items()) {
    if (std::find(std::begin(columns), std::end(columns), name) != std::end(columns)) continue;
    text += (text.empty() ? "" : "; ") + name + "=" + amount.dump();
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
    for (const CaseId& id : section.cases) add_axes(axes_, id);
    metrics_ |= section.benchmark == "overlap";
  }
  std::vector<std::string> header = {"benchmark", "device", "engine"};
  header.insert(header.end(), axes_.begin(), axes_.end());
  header.emplace_back("outcome");
  for (const char* key : kTimeColumns) header.push_back(std::string(key) + "_seconds");
  header.insert(header.end(), {"n", "stopped_by"});
  for (const char* rate : kRates) header.emplace_back(rate);
  header.emplace_back("other_rates");
  if (metrics_) {
    header.insert(header.end(), std::begin(kMetrics), std::end(kMetrics));
    header.emplace_back("other_metrics");
  }
  header.insert(header.end(), {"sampling", "flushed", "verified", "reason"});
  write_(csv_line(header));
}

void CsvWriter::result(const Record& record, bool) {
  std::vector<std::string> cells = csv_case(axes_, case_of(record));
  cells.emplace_back(name(outcome_of(record)));
  for (const char* key : kTimeColumns) cells.push_back(value(record, "seconds", key));
  cells.push_back(value(record, "seconds", "n"));
  cells.push_back(value(record, "seconds", "stopped_by"));
  for (const char* rate : kRates) cells.push_back(value(record, "rates", rate));
  cells.push_back(others(record, "rates", kRates));
  if (metrics_) {
    for (const char* metric : kMetrics) cells.push_back(value(record, "metrics", metric));
    cells.push_back(others(record, "metrics", kMetrics));
  }
  cells.push_back(record.value("mode", ""));
  cells.push_back(flag(record, "flushed"));
  cells.push_back(flag(record, "verified"));
  cells.push_back(reason_of(record));
  write_(csv_line(cells));
}

}  // namespace duet
