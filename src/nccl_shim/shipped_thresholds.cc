#include "nccl_shim/shipped_thresholds.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "core/drop_in_thresholds.h"
#include "nccl_shim/protocol/device.h"
#include "nccl_shim/shipped_texts.h"

namespace duet::nccl_shim {
namespace {

// In the order of Kind, and messages.
static_assert(kDropInChunkCalls == kKinds && kDropInCalls.size() == kKinds + 1);

struct ShippedRow {
  int ranks;
  DropInThresholds thresholds;
};

// Of all measured tables. The rest of their keys is libduet's.
std::vector<ShippedRow> read_rows() {
  std::vector<ShippedRow> rows;
  for (const auto& [file, text] : shipped_texts()) {
    const toml::table parsed = TomlTable::parse(file, text);
    TomlTable table(file, "", parsed);
    if (table.truth("simulated")) continue;
    for (TomlTable& row : table.tables("row")) {
      if (!row.has("beside_nccl")) continue;
      const int ranks = row.count("ranks", 2, kMostRanks);
      rows.push_back({ranks, read_drop_in_thresholds(row.table("beside_nccl"))});
    }
  }
  return rows;
}

Thresholds taken_from(const DropInThresholds& row) {
  Thresholds taken;
  std::copy_n(row.copies_from.begin(), kKinds, taken.least.begin());
  taken.least_message = row.copies_from[kKinds];
  taken.packets = row.packets_to;
  taken.kernel = row.kernel_to;
  taken.shipped = true;
  return taken;
}

}  // namespace

Thresholds thresholds_for(const std::string& model, int ranks) {
  if (!settings().thresholds.is_empty()) return settings().thresholds;
  static const std::vector<ShippedRow> rows = read_rows();
  for (const ShippedRow& row : rows) {
    const auto& models = row.thresholds.models;
    const bool named = std::find(models.begin(), models.end(), model) != models.end();
    if (named && row.ranks == ranks) return taken_from(row.thresholds);
  }
  return {};
}

}  // namespace duet::nccl_shim
