// Collectives by size and engine; see collective_table.h.
#include "results/writers/collective_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/units.h"
#include "results/rates.h"
#include "results/writers/axis_columns.h"
#include "results/writers/text_table.h"

namespace duet {
namespace {

using Cells = std::vector<std::string>;
constexpr std::size_t kCellsOfCall = 4;    // of one engine, in place or not
constexpr std::size_t kCellsOfEngine = 9;  // both, and the wire

std::string axis(const CaseId& id, const std::string& name, const char* otherwise) {
  for (const auto& [key, value] : id.axes) {
    if (key == name) return axis_text(value);
  }
  return otherwise;
}

std::size_t place_of(Cells& list, const std::string& text) {
  const auto found = std::find(list.begin(), list.end(), text);
  const auto place = static_cast<std::size_t>(found - list.begin());
  if (found == list.end()) list.push_back(text);
  return place;
}

std::string note(const Record& record, const char* name) {
  const bool there = record.contains("notes") && record["notes"].contains(name);
  return there ? record["notes"][name].get<std::string>() : "";
}

std::string rate(const Record& record, const char* name) {
  const auto found = record["rates"].find(name);
  return found == record["rates"].end() ? "-" : format_rate(found->get<double>());
}

// Checked data is right where there is a record of it at all.
std::string wrong(const Record& record) {
  const auto found = record["rates"].find("wrong");
  return found == record["rates"].end() ? "-" : fmt::format("{:.0f}", found->get<double>());
}

// Time, algorithm bandwidth, bus bandwidth, wrong elements.
Cells call_cells(const Record& record) {
  const Outcome outcome = outcome_of(record);
  if (outcome == Outcome::wrong) return {"-", "-", "-", "WRONG"};
  if (outcome == Outcome::failed) return {"failed", "-", "-", "-"};
  if (outcome != Outcome::measured) return {"-", "-", "-", "-"};
  const double seconds = record["seconds"]["median"].get<double>();
  return {fmt::format("{:.2f}", seconds * 1e6), rate(record, "algbw_gb_per_s"),
          rate(record, "busbw_gb_per_s"), wrong(record)};
}

// The lines of one collective's table.
class Sheet {
 public:
  void add(const CaseId& id, const Record& record) {
    const Cells head = {axis(id, "bytes", ""),  note(record, "count"),  axis(id, "type", ""),
                        axis(id, "op", "none"), axis(id, "root", "-1"), axis(id, "ranks", "")};
    std::string key;
    for (std::size_t i = 0; i < head.size(); ++i) key += i == 1 ? "" : head[i] + "|";
    const std::size_t row = place_of(keys_, key);
    if (row == rows_.size()) rows_.push_back({head, {}});
    Row& line = rows_[row];
    if (line.head[1].empty()) line.head[1] = head[1];  // a skipped case does not say its count
    place_of(engines_, id.engine);
    Cells& cells = line.engines[id.engine];
    cells.resize(kCellsOfEngine, "-");
    const bool in_place = axis(id, "in_place", "false") == "true";
    const Cells call = call_cells(record);
    std::copy(call.begin(), call.end(), cells.begin() + (in_place ? kCellsOfCall : 0));
    const bool measured = outcome_of(record) == Outcome::measured;
    if (measured && (!in_place || cells.back() == "-"))
      cells.back() = rate(record, "wire_gb_per_s");
  }

  std::string text(const std::string& collective) const {
    std::vector<Column> columns;
    for (const char* heading : {"size", "count", "type", "op", "root"}) {
      columns.push_back({heading, Align::right});
    }
    // Engines stand above the names of their columns.
    Cells names(columns.size());
    for (const std::string& engine : engines_) {
      for (const std::string& part : {engine, std::string("in place")}) {
        columns.push_back({part, Align::right});
        for (std::size_t i = 1; i < kCellsOfCall; ++i) columns.push_back({"", Align::right});
        for (const char* name : {"us", "algbw", "busbw", "wrong"}) names.push_back(name);
      }
      columns.push_back({"", Align::right});
      names.push_back("wire");
    }
    std::vector<Cells> lines = {names};
    for (const Row& row : rows_) lines.push_back(cells_of(row));
    return fmt::format("\n  {}, GB/s, {} ranks\n", collective, rows_.front().head.back()) +
           table(columns, lines, "  ");
  }

 private:
  struct Row {
    Cells head;
    std::map<std::string, Cells> engines;
  };

  Cells cells_of(const Row& row) const {
    Cells cells(row.head.begin(), row.head.end() - 1);
    for (const std::string& engine : engines_) {
      const auto found = row.engines.find(engine);
      const Cells none(kCellsOfEngine, "-");
      const Cells& own = found == row.engines.end() ? none : found->second;
      cells.insert(cells.end(), own.begin(), own.end());
    }
    return cells;
  }

  Cells keys_, engines_;
  std::vector<Row> rows_;
};

// "from 64 KiB to 1 MiB", of the sizes of a collective_crossover.
std::string range_text(const Record& rates) {
  const auto bytes = [&](const char* name) { return rates.value(name, 0.0); };
  const auto shown = [&](const char* name) { return rate_text(name, bytes(name)); };
  const bool from_smallest = bytes("crossover_bytes") <= bytes("smallest_bytes");
  const bool to_largest = bytes("last_bytes") >= bytes("largest_bytes");
  if (from_smallest && to_largest) return "at every size";
  if (bytes("crossover_bytes") == bytes("last_bytes"))
    return "at " + shown("last_bytes") + " alone";
  if (to_largest) return "from " + shown("crossover_bytes") + " on";
  if (from_smallest) return "up to " + shown("last_bytes");
  return "from " + shown("crossover_bytes") + " to " + shown("last_bytes");
}

}  // namespace

std::string collective_tables(const std::vector<Record>& results) {
  Cells names;
  std::vector<Sheet> sheets;
  for (const Record& record : results) {
    if (record["benchmark"] != "collective") continue;
    const CaseId id = case_of(record);
    const std::string layout = axis(id, "layout", "");
    const std::string name = axis(id, "collective", "") + (layout.empty() ? "" : ", " + layout);
    const std::size_t place = place_of(names, name);
    if (place == sheets.size()) sheets.emplace_back();
    sheets[place].add(id, record);
  }
  std::string text;
  for (std::size_t i = 0; i < sheets.size(); ++i) text += sheets[i].text(names[i]);
  return text;
}

std::string crossover_lines(const std::vector<Record>& results) {
  std::string text;
  for (const Record& record : results) {
    if (record["benchmark"] != "collective_crossover") continue;
    const CaseId id = case_of(record);
    std::string call;
    for (const char* part : {"collective", "type", "op", "layout"}) {
      const std::string word = axis(id, part, "");
      call += (call.empty() || word.empty() ? "" : " ") + word;
    }
    if (axis(id, "in_place", "false") == "true") call += " in place";
    const Record& rates = record["rates"];
    text +=
        fmt::format("  {}: {} is the fastest {}, {:.2f} times {} at {}\n", call, id.engine,
                    range_text(rates), rates.value("times_as_fast", 0.0), axis(id, "against", ""),
                    rate_text("last_bytes", rates.value("last_bytes", 0.0)));
  }
  return text.empty() ? "" : "\n" + text;
}

}  // namespace duet
