#include <fmt/format.h>

#include "collectives/group_cases.h"
#include "collectives/workload.h"
#include "core/units.h"
#include "results/rates.h"
#include "results/writers/axis_columns.h"
#include "results/writers/text_table.h"

namespace duet {
namespace {

// "all_reduce 0-1", "all_reduce 2-3", in the order of the figures.
std::vector<std::string> groups_named(const Record& record) {
  std::vector<std::string> names{""};
  for (const char c : record.notes.value(kGroupsNote)) {
    if (c == ';') {
      names.emplace_back();
    } else if (c != ' ' || !names.back().empty()) {
      names.back() += c;
    }
  }
  return names;
}

std::string table_of(const Record& record) {
  const std::vector<std::string> names = groups_named(record);
  const auto figures = [&](const char* curve) {
    std::vector<double> values = record.curves.value(curve);
    values.resize(names.size());
    return values;
  };
  const std::vector<double> seconds = figures(kGroupSeconds), alone = figures(kGroupAlone),
                            slowdown = figures(kGroupSlowdown), busbw = figures(kGroupBusbw);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t group = 0; group < names.size(); ++group) {
    rows.push_back({names[group], format_seconds(alone[group]), format_seconds(seconds[group]),
                    fmt::format("{:.2f}", slowdown[group]), format_rate(busbw[group])});
  }
  return fmt::format("\n  {}\n{}", line_of(record.id),
                     table({{"group"},
                            {"alone", Align::right},
                            {"at once", Align::right},
                            {"slowdown", Align::right},
                            {"busbw GB/s", Align::right}},
                           rows, "    "));
}

}  // namespace

std::string groups_tables(const std::vector<Record>& results) {
  std::string text;
  for (const Record& record : results) {
    if (record.id.benchmark != kGroupsBenchmark || record.outcome != Outcome::measured) continue;
    text += table_of(record);
  }
  return text;
}

}  // namespace duet
