#include "collectives/tuning/built_in_tuning.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"
#include "core/toml_table.h"

namespace duet {
namespace {

constexpr int kMostRowRanks = 1000000;

constexpr const char* kUsualTable = "h200-sxm";

Thresholds read_thresholds(TomlTable table) {
  Thresholds thresholds;
  for (const CollectiveKind kind : all_collectives()) {
    const auto from = table.size_or_never(std::string(name(kind)).c_str());
    thresholds.set(kind, from.value_or(Thresholds::kNever));
  }
  table.finish();
  return thresholds;
}

bool names(const std::vector<std::string>& models, const std::string& model) {
  return std::find(models.begin(), models.end(), model) != models.end();
}

const TuningTable& table_for(const TuningSetup& setup) {
  const std::vector<TuningTable>& all = tuning_tables();
  const auto find = [&](const auto& fits) { return std::find_if(all.begin(), all.end(), fits); };
  auto found = find([&](const TuningTable& one) {
    return names(one.models, setup.model) && one.simulated == setup.simulated;
  });
  if (found == all.end()) {
    found = find([&](const TuningTable& one) { return names(one.models, setup.model); });
  }
  if (found == all.end()) {
    found = find([](const TuningTable& one) { return one.file == kUsualTable; });
  }
  return *found;
}

}  // namespace

TuningTable parse_tuning_table(const std::string& file, std::string_view text) {
  const toml::table parsed = TomlTable::parse(file, text);
  TomlTable table(file, "", parsed);
  TuningTable result;
  result.file = file;
  result.models = table.texts("models");
  result.simulated = table.truth("simulated");
  for (TomlTable& row : table.tables("row")) {
    const int ranks = row.count("ranks", 2, kMostRowRanks);
    row.text("source");
    if (!result.by_ranks.emplace(ranks, read_thresholds(row.table("dma_from"))).second) {
      row.fail("ranks", "one row for each number of ranks");
    }
    if (row.has("beside_nccl")) {
      result.beside_nccl.emplace(ranks, read_drop_in_thresholds(row.table("beside_nccl")));
    }
    row.finish();
  }
  if (result.by_ranks.empty()) table.fail("row", "tables headed [[row]]");
  table.finish();
  return result;
}

const std::vector<TuningTable>& tuning_tables() {
  static const std::vector<TuningTable> all = [] {
    std::vector<TuningTable> list;
    for (const auto& [file, text] : built_in_tuning()) {
      list.push_back(parse_tuning_table(file, text));
    }
    return list;
  }();
  return all;
}

Thresholds built_in_thresholds(const TuningSetup& setup) {
  const auto& rows = table_for(setup).by_ranks;
  const auto away = [&](const auto& row) {
    return std::abs(std::log(static_cast<double>(row.first) / std::max(1, setup.ranks)));
  };
  return std::min_element(rows.begin(), rows.end(),
                          [&](const auto& a, const auto& b) { return away(a) < away(b); })
      ->second;
}

std::optional<DropInThresholds> built_in_drop_in(const std::string& model, int ranks) {
  for (const TuningTable& table : tuning_tables()) {
    const auto row = table.beside_nccl.find(ranks);
    if (row != table.beside_nccl.end() && names(row->second.models, model)) return row->second;
  }
  return std::nullopt;
}

}  // namespace duet
