#include "results/writers/training_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "results/writers/axis_columns.h"

namespace duet {
namespace {

// Metrics of one table: those whose names end alike, such as "gemm_seconds".
struct MetricTable {
  const char* title;
  const char* ending;
  double factor;                        // from the metric's unit to the table's
  const char* whole;                    // the heading of the last column
  const char* whole_metric;             // what it holds; "": the sum of the others
  std::vector<std::string_view> order;  // of the columns, without the ending
};

const std::vector<MetricTable>& metric_tables() {
  static const std::vector<MetricTable> tables{
      {"memory of a rank, GB",
       "_bytes",
       1e-9,
       "all",
       "memory_bytes",
       {"parameters", "gradients", "optimizer_states", "activations", "gathered", "workspace",
        "gemm_and_attention"}},
      {"time of the parts of a step, enqueued and timed one by one, ms",
       "_seconds",
       1e3,
       "sum",
       "",
       {"gemm", "attention", "norm", "elementwise", "loss", "optimizer"}}};
  return tables;
}

std::string heading_of(std::string_view metric) {
  std::string text(metric);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

bool has_metric(const Record& record, const std::string& metric) {
  return record.contains("metrics") && record["metrics"].contains(metric);
}

std::string table_of(const MetricTable& metrics, const std::vector<const Record*>& steps) {
  std::vector<CaseId> cases;
  std::vector<std::string> names;  // of the metrics that any step has
  for (const std::string_view name : metrics.order) {
    const std::string metric = std::string(name) + metrics.ending;
    const auto has = [&](const Record* step) { return has_metric(*step, metric); };
    if (std::any_of(steps.begin(), steps.end(), has)) names.push_back(metric);
  }
  if (names.empty()) return "";
  for (const Record* step : steps) {
    cases.push_back(case_of(*step));
    cases.back().axes = cases.back().axes.without({"layers", "parameters"});  // the model's
  }
  const AxisColumns axes(cases);
  std::vector<Column> columns = axes.columns();
  for (const std::string& name : names) {
    columns.push_back({heading_of(std::string_view(name).substr(
                           0, name.size() - std::string_view(metrics.ending).size())),
                       Align::right});
  }
  columns.push_back({metrics.whole, Align::right});
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    rows.push_back(axes.cells(cases[i]));
    double sum = 0;
    for (const std::string& name : names) {
      const bool there = has_metric(*steps[i], name);
      const double value = there ? metrics.factor * (*steps[i])["metrics"][name].get<double>() : 0;
      rows.back().push_back(there ? fmt::format("{:.2f}", value) : "");
      sum += value;
    }
    if (has_metric(*steps[i], metrics.whole_metric)) {
      sum = metrics.factor * (*steps[i])["metrics"][metrics.whole_metric].get<double>();
    }
    rows.back().push_back(fmt::format("{:.2f}", sum));
  }
  return fmt::format("\n  {}\n{}", metrics.title, table(columns, rows, "  "));
}

}  // namespace

std::string training_tables(const std::vector<Record>& results) {
  std::vector<const Record*> steps;
  for (const Record& record : results) {
    if (record["benchmark"] == "train" && outcome_of(record) == Outcome::measured) {
      steps.push_back(&record);
    }
  }
  std::string text;
  if (steps.empty()) return text;
  for (const MetricTable& metrics : metric_tables()) text += table_of(metrics, steps);
  return text;
}

}  // namespace duet
