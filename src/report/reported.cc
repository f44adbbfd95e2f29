#include <nlohmann/json.hpp>

#include "core/range.h"
#include "core/toml_table.h"
#include "report/data.h"

namespace duet {
namespace {

constexpr int kMostElements = 1 << 30;
constexpr int kMostRanks = 1 << 20;
constexpr Range kCountRange{1, 1e15, ""};
constexpr Range kItemsRange{1e-3, 1e12, ""};
constexpr Range kMillisecondsRange{1e-3, 1e9, "ms"};
constexpr Range kBusbwRange{1e-3, 1e6, "GB/s"};
constexpr Range kMemoryGbRange{1e-3, 1e6, "GB"};

Json gemm_of(TomlTable row) {
  Json json = {{"device", row.text("device")}, {"dtype", row.text("dtype")}};
  // A row without a shape is the best of a study's shapes.
  if (row.has("m")) {
    for (const char* axis : {"m", "n", "k"}) json[axis] = row.count(axis, 1, kMostElements);
  }
  json["tflops"] = row.number("tflops", kTflopsRange);
  json["source"] = row.text("source");
  row.finish();
  return json;
}

// What steps of one and of several devices have in common. A model without a sequence is trained on
// samples. Not every study states every figure.
Json figures_of(TomlTable& step) {
  Json json = {{"device", step.text("device")},
               {"model", step.text("model")},
               {"parameters", step.number("parameters", kCountRange)},
               {"batch", step.count("batch", 1, kMostElements)}};
  const bool tokens = step.has("sequence");
  if (tokens) json["sequence"] = step.count("sequence", 1, kMostElements);
  const char* const rate = tokens ? "tokens_per_s" : "samples_per_s";
  json[rate] = step.number(rate, kItemsRange);
  if (step.has("tflops")) json["tflops"] = step.number("tflops", kTflopsRange);
  if (step.has("memory_gb")) json["memory_gb"] = step.number("memory_gb", kMemoryGbRange);
  json["source"] = step.text("source");
  return json;
}

Json step_of(TomlTable step) {
  Json json = figures_of(step);
  json["milliseconds"] = step.number("milliseconds", kMillisecondsRange);
  step.finish();
  return json;
}

Json parallel_step_of(TomlTable step) {
  Json json = figures_of(step);
  json["ranks"] = step.count("ranks", 1, kMostRanks);
  if (step.has("recipe")) json["recipe"] = step.text("recipe");
  step.finish();
  return json;
}

Json halo_of(TomlTable row) {
  Json json = {{"device", row.text("device")}, {"variant", row.text("variant")}};
  json["norm"] = row.word("norm", {"none", "device", "host", "delayed"});
  for (const char* axis : {"nx", "ny"}) json[axis] = row.count(axis, 1, kMostElements);
  json["ranks"] = row.count("ranks", 1, kMostRanks);
  json["milliseconds"] = row.number("milliseconds", kMillisecondsRange);
  json["source"] = row.text("source");
  row.finish();
  return json;
}

Json collective_of(TomlTable row) {
  Json json = {{"device", row.text("device")}, {"collective", row.text("collective")}};
  json["nodes"] = row.count("nodes", 2, kMostRanks);
  json["busbw_gb_per_s"] = row.number("busbw_gb_per_s", kBusbwRange);
  json["source"] = row.text("source");
  row.finish();
  return json;
}

struct Reported {
  Json halo = Json::array(), collectives = Json::array();
  Json gemms = Json::array(), steps = Json::array(), parallel_steps = Json::array();
};

const Reported& reported() {
  static const Reported all = [] {
    Reported rows;
    for (const auto& [name, text] : built_in_reported()) {
      const toml::table parsed = TomlTable::parse(name, text);
      TomlTable table(name, "", parsed);
      for (const TomlTable& row : table.tables("row")) rows.gemms.push_back(gemm_of(row));
      for (const TomlTable& step : table.tables("step")) rows.steps.push_back(step_of(step));
      for (const TomlTable& step : table.tables("parallel_step")) {
        rows.parallel_steps.push_back(parallel_step_of(step));
      }
      for (const TomlTable& row : table.tables("halo")) rows.halo.push_back(halo_of(row));
      for (const TomlTable& row : table.tables("collective")) {
        rows.collectives.push_back(collective_of(row));
      }
      table.finish();
    }
    return rows;
  }();
  return all;
}

}  // namespace

const Json& reported_rows() { return reported().gemms; }
const Json& reported_steps() { return reported().steps; }
const Json& reported_halo() { return reported().halo; }
const Json& reported_collectives() { return reported().collectives; }
const Json& reported_parallel_steps() { return reported().parallel_steps; }

}  // namespace duet
