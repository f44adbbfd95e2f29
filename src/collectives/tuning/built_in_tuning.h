// Thresholds of the engine `auto` for machines that have no tuning file. They were measured on
// other machines with the same devices (specs/tuning).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/tuning/thresholds.h"
#include "core/drop_in_thresholds.h"

namespace duet {

// One file of specs/tuning, for one device model.
struct TuningTable {
  std::string file;
  std::vector<std::string> models;              // as drivers name them
  bool simulated = false;                       // measured on simulated machines
  std::map<int, Thresholds> by_ranks;           // each row has every collective
  std::map<int, DropInThresholds> beside_nccl;  // rows that have it
};

// Throws UsageError that names the file, the key and what was expected.
TuningTable parse_tuning_table(const std::string& file, std::string_view text);

// All of specs/tuning.
const std::vector<TuningTable>& tuning_tables();

// The built-in thresholds for a setup, for every collective.
// Choice of the table: one that names the device's model, preferring a simulated table for a
// simulated device and a measured one for a real device; if no table names the model, that of
// NVIDIA H200. Choice of the row: the number of ranks that is nearest in ratio.
Thresholds built_in_thresholds(const TuningSetup& setup);

// What is built in of the drop-in for so many ranks on devices of this model, in one process and in
// several; none if nothing is.
std::optional<DropInThresholds> built_in_drop_in(const std::string& model, int ranks);

// The texts of specs/tuning by file name.
const std::map<std::string, std::string_view>& built_in_tuning();

}  // namespace duet
