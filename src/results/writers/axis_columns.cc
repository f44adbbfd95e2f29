#include "results/writers/axis_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/plain_text.h"
#include "core/units.h"
#include "results/record.h"

namespace duet {
namespace {

// The axes in the order of their first appearance, with `path` for source and destination.
std::vector<std::string> axis_names(const std::vector<CaseId>& cases) {
  std::vector<std::string> names = {"device", "engine"};
  for (const CaseId& id : cases) {
    for (const auto& axis : id.axes) {
      const bool end = axis.first == "source" || axis.first == "destination";
      const std::string name = end ? "path" : axis.first;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

bool is_number(const CaseId& id, const std::string& axis) {
  const AxisValue* value = id.axes.find(axis);
  return value != nullptr &&
         (std::holds_alternative<std::int64_t>(*value) || std::holds_alternative<double>(*value));
}

std::string heading(const std::string& axis) {
  if (axis.size() == 1) return {static_cast<char>(std::toupper(axis[0]))};
  return axis == "bidirectional" ? "2-way" : axis;
}

bool says_nothing(const std::string& text) {
  return text.empty() || text == "0" || text == "false" || text == "no";
}

}  // namespace

std::string axis_cell(const CaseId& id, const std::string& axis) {
  if (axis == "device") return id.device;
  if (axis == "engine") return id.engine;
  if (axis == "path") {
    const std::string from = axis_cell(id, "source");
    const std::string to = axis_cell(id, "destination");
    return from == to ? from : from + " > " + to;
  }
  const AxisValue* value = id.axes.find(axis);
  if (value == nullptr) return "";
  if (const auto* yes = std::get_if<bool>(value)) return *yes ? "yes" : "no";
  const auto* number = std::get_if<std::int64_t>(value);
  const bool bytes = axis == "bytes" || axis == "packet" || axis == "against_packet";
  if (bytes && number != nullptr) {
    return format_bytes(static_cast<std::uint64_t>(*number));
  }
  const bool shape = axis == "grid" || axis == "block";
  if (shape && number != nullptr && *number == 0) return "";  // the device's choice
  const std::string text = axis_text(*value);
  // A device of the case's machine is shown by its number: "1" for "sim:mi300x-8:1".
  const std::string machine = id.device + ":";
  return text.compare(0, machine.size(), machine) == 0 ? text.substr(machine.size()) : text;
}

std::string case_text(const CaseId& id) {
  std::string text;
  bool after_dimension = false;
  for (const auto& [name, value] : id.axes) {
    const bool path = name == "source" || name == "destination";
    if (is_label(value) || (name == "destination" && id.axes.find("source") != nullptr)) continue;
    std::string cell = axis_cell(id, path ? "path" : name);
    if (!path && says_nothing(cell)) continue;  // device 0 is a place
    const bool dimension = name.size() == 1 && std::holds_alternative<std::int64_t>(value);
    if (std::holds_alternative<bool>(value)) cell = heading(name);
    if (is_number(id, name) && name != "bytes" && !dimension) cell = heading(name) + " " + cell;
    if (!text.empty()) text += dimension && after_dimension ? " x " : " ";
    text += cell;
    after_dimension = dimension;
  }
  return text;
}

std::string line_of(const CaseId& id) {
  return one_line(
      fmt::format("{} on {}, {}, {}", id.benchmark, id.device, id.engine, case_text(id)));
}

bool has_all(const std::string& line, const std::vector<std::string>& words) {
  return std::all_of(words.begin(), words.end(),
                     [&](const std::string& word) { return line.find(word) != std::string::npos; });
}

AxisColumns::AxisColumns(const std::vector<CaseId>& cases, const std::string& answer) {
  for (const std::string& name : axis_names(cases)) {
    Column column{heading(name), Align::left, 0};
    bool varies = false;
    bool numeric = true;
    std::string only;  // cases without the axis do not count as another value
    for (const CaseId& id : cases) {
      const std::string text = axis_cell(id, name);
      if (only.empty()) only = text;
      varies |= !text.empty() && text != only;
      numeric &= text.empty() || is_number(id, name);
      column.width = std::max(column.width, text.size());
    }
    if (varies || name == answer) {
      column.align = numeric ? Align::right : Align::left;
      names_.push_back(name);
      columns_.push_back(column);
    } else if (name != "device" && !says_nothing(only)) {
      shared_ += (shared_.empty() ? "" : ", ") + heading(name) + " " + only;
    }
  }
}

std::vector<std::string> AxisColumns::cells(const CaseId& id) const {
  std::vector<std::string> out;
  for (const std::string& name : names_) out.push_back(axis_cell(id, name));
  return out;
}

}  // namespace duet
