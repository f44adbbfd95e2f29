#include "replay/replay_table.h"

#include <fmt/format.h>

#include <map>

#include "core/units.h"
#include "results/writers/text_table.h"

namespace duet {
namespace {

std::string seconds_text(double seconds) { return seconds > 0 ? format_seconds(seconds) : "-"; }

// Of the step's time, by which another engine would be faster than `first`.
std::string saved_text(const Record& own, const Record& first) {
  if (&own == &first || first.seconds.median <= 0) return "-";
  return fmt::format("{:+.1f}%", 100 * (1 - own.seconds.median / first.seconds.median));
}

std::vector<std::string> cells_of(const Record& record, const Record& first) {
  const ByName<double>& figures = record.metrics;
  const double* const hidden = figures.find("hidden");
  return {axis_word(record.id, "trace"),
          axis_word(record.id, "order"),
          record.id.engine,
          seconds_text(record.seconds.median),
          seconds_text(figures.value("gemm_seconds")),
          seconds_text(figures.value("collective_seconds")),
          seconds_text(figures.value("exposed_seconds")),
          hidden != nullptr ? fmt::format("{:.0f}%", 100 * *hidden) : "-",
          saved_text(record, first)};
}

// What the figures of a trace do not contain.
std::string remarks_of(const Record& record) {
  const std::string trace = axis_word(record.id, "trace");
  std::string text;
  const auto add = [&](const std::string& line) { text += fmt::format("  {}: {}\n", trace, line); };
  const double recorded = record.metrics.value("recorded_seconds");
  if (recorded > 0)
    add(fmt::format("recorded in {}, with all that is not replayed", format_seconds(recorded)));
  const std::string groups = record.notes.value("recorded_ranks");
  if (groups == "unknown") {
    add(fmt::format(
        "collectives go over {:.0f} ranks: the trace does not tell over how many they went",
        axis_number(record.id, "ranks")));
  } else if (!groups.empty()) {
    add(fmt::format(
        "collectives of groups of {} ranks go over {:.0f}: a rank's larger buffer keeps "
        "its bytes",
        groups, axis_number(record.id, "ranks")));
  }
  if (record.notes.value("waits") == "end of the step")
    add("the trace has no waits: overlapped GEMMs wait for collectives at the end of the step");
  const std::string rest = record.notes.value("left_out");
  if (!rest.empty()) add("left out: " + rest);
  return text;
}

}  // namespace

std::string replay_table(const std::vector<Record>& results) {
  std::map<std::string, const Record*> firsts;  // by trace and order
  std::map<std::string, std::string> remarks;   // by trace
  std::vector<std::vector<std::string>> rows;
  for (const Record& record : results) {
    if (record.id.benchmark != "replay" || record.outcome != Outcome::measured) continue;
    const std::string trace = axis_word(record.id, "trace");
    const std::string key =
        fmt::format("{} {} {}", record.id.device, trace, axis_word(record.id, "order"));
    rows.push_back(cells_of(record, *firsts.emplace(key, &record).first->second));
    remarks.emplace(trace, remarks_of(record));
  }
  if (rows.empty()) return "";
  std::string text = "\n" + table({{"trace"},
                                   {"order"},
                                   {"engine"},
                                   {"step", Align::right},
                                   {"GEMMs", Align::right},
                                   {"collectives", Align::right},
                                   {"exposed", Align::right},
                                   {"hidden", Align::right},
                                   {"saves", Align::right}},
                                  rows, "  ");
  for (const auto& [trace, lines] : remarks) text += lines;
  return text;
}

}  // namespace duet
