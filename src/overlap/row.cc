#include "overlap/row.h"

#include <fmt/format.h>

#include <optional>
#include <sstream>

#include "core/error.h"
#include "gemm/shapes.h"
#include "timing/statistics.h"

namespace duet {
namespace {

template <class Value>
Value require(const std::optional<Value>& value, const CaseId& id, const std::string& axis) {
  if (value) return *value;
  throw Error(fmt::format("{}: expected a case with the axis {}", id.benchmark, axis));
}

// Parses a side in the form of name(). The compute side's bytes may follow its name.
OverlapSide recorded_side(const std::string& text, std::uint64_t bytes) {
  std::istringstream words(text);
  std::string first, kind, executor;
  words >> first >> kind >> executor;
  if (first == "copy") return CopySide{parse_copy_kind(kind), bytes, parse_executor(executor)};
  if (first.find('x') != std::string::npos) return parse_problem(text);
  return CollectiveSide{parse_collective(first), bytes};
}

// What is fitted of a built-in scenario, if a recorded one is that.
std::vector<FittedTraffic> fitted_of(const OverlapScenario& recorded) {
  static const std::vector<OverlapScenario> all = scenario_set("all");
  for (const OverlapScenario& each : all) {
    if (each.name == recorded.name && each.source == recorded.source &&
        name(each.compute) == name(recorded.compute)) {
      return each.fitted;
    }
  }
  return {};
}

}  // namespace

std::string OverlapRow::word(const std::string& axis) const {
  return require(id.axes.text(axis), id, axis);
}

std::int64_t OverlapRow::number(const std::string& axis) const {
  return require(id.axes.number(axis), id, axis);
}

double OverlapRow::metric(const std::string& name) const {
  const auto found = metrics.find(name);
  if (found != metrics.end()) return found->second;
  throw Error(fmt::format("{}: expected a record with the metric {}", id.benchmark, name));
}

OverlapRow row_of(const Measurement& measurement) {
  OverlapRow row;
  row.id = measurement.id;
  row.metrics = {measurement.metrics.begin(), measurement.metrics.end()};
  if (measurement.sampling && !measurement.skipped) {
    row.seconds = summarise(measurement.sampling->samples).median;
  }
  return row;
}

GemmProblem parse_problem(const std::string& text) {
  std::istringstream words(text);
  std::string shape, dtype, layout, more;
  words >> shape >> dtype >> layout;
  const auto shapes = parse_shapes(shape);
  if (layout.empty() || words >> more || shapes.size() != 1) {
    throw UsageError(fmt::format("gemm '{}': expected one like 8192x57344x8192 bf16 nn", text));
  }
  GemmProblem problem{shapes[0].m, shapes[0].n, shapes[0].k, parse_dtype(dtype)};
  problem.output = default_output(problem.dtype);
  problem.layout = parse_layout(layout);
  return problem;
}

OverlapScenario scenario_of(const OverlapRow& row) {
  OverlapScenario scenario;
  scenario.name = row.word("scenario");
  scenario.source = row.word("origin");
  scenario.pieces = static_cast<int>(row.number("pieces"));
  scenario.in_place = row.id.axes.flag("in_place").value_or(false);
  const std::int64_t bytes = row.number("bytes");
  if (scenario.pieces < 1 || bytes < 0) {
    throw Error(
        fmt::format("{}: expected 1 piece or more, and 0 bytes or more", full_name(scenario)));
  }
  scenario.compute = recorded_side(row.word("compute"), 0);
  scenario.communication = recorded_side(row.word("collective"), static_cast<std::uint64_t>(bytes));
  scenario.fitted = fitted_of(scenario);
  return scenario;
}

OverlapPolicy policy_of(const OverlapRow& row) {
  const auto policies = parse_policies(row.word("policy"));
  if (policies.size() == 1) return policies.front();
  throw Error(fmt::format("policy '{}': expected one", row.word("policy")));
}

}  // namespace duet
