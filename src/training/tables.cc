#include "training/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "results/writers/axis_columns.h"

namespace duet {
namespace {

struct MetricUnit {
  const char* name;
  double factor;  // from the metric's unit to this one
};

// Metrics of one table: those whose names end alike, such as "gemm_seconds".
struct MetricTable {
  const char* title;
  const char* ending;
  std::vector<MetricUnit> units;        // the largest first
  const char* whole;                    // the heading of the last column
  const char* whole_metric;             // what it holds; "": the sum of the others
  std::vector<std::string_view> order;  // of the columns, without the ending
};

const std::vector<MetricTable>& metric_tables() {
  static const std::vector<MetricTable> tables{
      {"memory of a rank",
       "_bytes",
       {{"GB", 1e-9}, {"MB", 1e-6}, {"KB", 1e-3}},
       "all",
       "memory_bytes",
       {"parameters", "gradients", "optimizer_states", "activations", "gathered", "workspace",
        "gemm_and_attention"}},
      {"time of the parts of a step, enqueued and timed one by one",
       "_seconds",
       {{"ms", 1e3}, {"us", 1e6}},
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

// The names of the metrics that any step has.
std::vector<std::string> metrics_of(const MetricTable& table,
                                    const std::vector<const Record*>& steps) {
  std::vector<std::string> names;
  for (const std::string_view name : table.order) {
    const std::string metric = std::string(name) + table.ending;
    const auto has = [&](const Record* step) { return step->metrics.contains(metric); };
    if (std::any_of(steps.begin(), steps.end(), has)) names.push_back(metric);
  }
  return names;
}

double whole_of(const MetricTable& table, const std::vector<std::string>& names,
                const Record& step) {
  if (const double* whole = step.metrics.find(table.whole_metric)) return *whole;
  double sum = 0;
  for (const std::string& name : names) sum += step.metrics.value(name);
  return sum;
}

// The largest in which the largest whole is at least 1, otherwise the smallest.
const MetricUnit& unit_for(const MetricTable& table, double largest) {
  const auto fits = [&](const MetricUnit& unit) { return largest * unit.factor >= 1; };
  const auto found = std::find_if(table.units.begin(), table.units.end(), fits);
  return found == table.units.end() ? table.units.back() : *found;
}

std::string table_of(const MetricTable& metrics, const std::vector<const Record*>& steps) {
  const std::vector<std::string> names = metrics_of(metrics, steps);
  if (names.empty()) return "";
  std::vector<CaseId> cases;
  double largest = 0;
  for (const Record* step : steps) {
    cases.push_back(step->id);
    cases.back().axes = cases.back().axes.without({"layers", "parameters"});  // the model's
    largest = std::max(largest, whole_of(metrics, names, *step));
  }
  const MetricUnit& unit = unit_for(metrics, largest);
  const AxisColumns axes(cases);
  std::vector<Column> columns = axes.columns();
  for (const std::string& name : names) {
    columns.push_back({heading_of(std::string_view(name).substr(
                           0, name.size() - std::string_view(metrics.ending).size())),
                       Align::right});
  }
  columns.push_back({metrics.whole, Align::right});
  std::vector<std::vector<std::string>> rows;
  const auto text = [&](double value) { return fmt::format("{:.2f}", unit.factor * value); };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    rows.push_back(axes.cells(cases[i]));
    for (const std::string& name : names) {
      const double* value = steps[i]->metrics.find(name);
      rows.back().push_back(value != nullptr ? text(*value) : "");
    }
    rows.back().push_back(text(whole_of(metrics, names, *steps[i])));
  }
  return fmt::format("\n  {}, {}\n{}", metrics.title, unit.name, table(columns, rows, "  "));
}

// Of a run on a text: the loss of the first and last step, and that of the evaluation part.
std::string losses_of(const Record& run) {
  const std::vector<double> losses = run.curves.value("loss");
  if (losses.empty()) return "";
  const double first = run.metrics.value("first_step");
  std::string text =
      fmt::format("\n  loss {:.4f} in step {:.0f}, {:.4f} in step {:.0f}", losses.front(), first,
                  losses.back(), first + static_cast<double>(losses.size()) - 1);
  if (const double* loss = run.metrics.find("evaluation_loss")) {
    text += fmt::format("; {:.4f} on the part for evaluation", *loss);
  }
  return text + '\n';
}

}  // namespace

std::string training_tables(const std::vector<Record>& results) {
  std::vector<const Record*> steps;
  std::string text;
  for (const Record& record : results) {
    if (record.outcome != Outcome::measured) continue;
    if (record.id.benchmark == "train") steps.push_back(&record);
    if (record.id.benchmark == "train_run") text += losses_of(record);
  }
  if (steps.empty()) return text;
  for (const MetricTable& metrics : metric_tables()) text += table_of(metrics, steps);
  return text;
}

}  // namespace duet
