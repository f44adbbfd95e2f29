#include <nlohmann/json.hpp>

#include "core/device_ranges.h"
#include "core/toml_table.h"
#include "report/data.h"

namespace duet {
namespace {

constexpr int kMostElements = 1 << 30;

Record row_of(TomlTable row) {
  Record json = {{"device", row.text("device")}, {"dtype", row.text("dtype")}};
  // A row without a shape is the best of a study's shapes.
  if (row.has("m")) {
    for (const char* axis : {"m", "n", "k"}) json[axis] = row.count(axis, 1, kMostElements);
  }
  json["tflops"] = row.number("tflops", kTflopsRange);
  json["source"] = row.text("source");
  row.finish();
  return json;
}

}  // namespace

const Record& reported_rows() {
  static const Record all = [] {
    Record rows = Record::array();
    for (const auto& [name, text] : built_in_reported()) {
      const toml::table parsed = TomlTable::parse(name, text);
      TomlTable table(name, "", parsed);
      for (const TomlTable& row : table.tables("row")) rows.push_back(row_of(row));
      table.finish();
    }
    return rows;
  }();
  return all;
}

}  // namespace duet
