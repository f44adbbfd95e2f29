#include "gemm/grouped_table.h"

#include <fmt/format.h>

#include <map>

#include "core/units.h"
#include "gemm/grouped_cases.h"
#include "results/writers/axis_columns.h"
#include "results/writers/pivot.h"

namespace duet {
namespace {

// The results of one problem, by engine.
struct GroupedLine {
  CaseId id;  // without engine
  std::map<std::string, const Record*> by_engine;
};

std::vector<GroupedLine> lines_of(const std::vector<Record>& results,
                                  std::vector<std::string>& engines) {
  std::vector<GroupedLine> lines;
  std::map<std::string, std::size_t> places;  // by axes
  for (const Record& record : results) {
    if (record.id.benchmark != "gemm_grouped" || record.outcome != Outcome::measured) continue;
    const auto [place, fresh] =
        places.emplace(record.id.device + record.id.axes.key(), lines.size());
    if (fresh) {
      lines.push_back({record.id, {}});
      lines.back().id.engine.clear();
      if (!axis_word(record.id, "model").empty()) {
        lines.back().id.axes = record.id.axes.without({"n", "k"});  // those of the model's part
      }
    }
    lines[place->second].by_engine[record.id.engine] = &record;
    index_of(engines, record.id.engine);
  }
  return lines;
}

// "1.23 ms 87%".
std::string cell_of(const GroupedLine& line, const std::string& engine) {
  const auto own = line.by_engine.find(engine);
  if (own == line.by_engine.end()) return "-";
  const double seconds = own->second->seconds.median;
  std::string text = format_seconds(seconds);
  const auto dense = line.by_engine.find(kDenseEngine);
  if (engine != kDenseEngine && dense != line.by_engine.end() && seconds > 0) {
    text += fmt::format(" {:3.0f}%", 100 * dense->second->seconds.median / seconds);
  }
  return text;
}

}  // namespace

std::string grouped_table(const std::vector<Record>& results) {
  std::vector<std::string> engines;
  const std::vector<GroupedLine> lines = lines_of(results, engines);
  if (lines.empty()) return "";
  std::vector<CaseId> ids;
  for (const GroupedLine& line : lines) ids.push_back(line.id);
  const AxisColumns axes(ids);
  std::vector<Column> columns = axes.columns();
  columns.insert(columns.end(), {{"largest", Align::right}, {"max/mean", Align::right}});
  for (const std::string& engine : engines) columns.push_back({engine, Align::right});
  std::vector<std::vector<std::string>> rows;
  for (const GroupedLine& line : lines) {
    const ByName<double>& metrics = line.by_engine.begin()->second->metrics;
    rows.push_back(axes.cells(line.id));
    rows.back().push_back(fmt::format("{:.0f}", metrics.value("rows_of_largest")));
    rows.back().push_back(fmt::format("{:.2f}", metrics.value("rows_max_over_mean")));
    for (const std::string& engine : engines) rows.back().push_back(cell_of(line, engine));
  }
  return fmt::format(
      "\n  rows of the largest group; time of a call, and its share of the dense product's "
      "rate\n{}",
      table(columns, rows, "  "));
}

}  // namespace duet
