// What the engine `auto` does on machines that were not tuned: tables measured on others of their
// kind (specs/tuning).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/tuning/thresholds.h"

namespace duet {

// One file of specs/tuning: devices of one kind, real or simulated.
struct TuningTable {
  std::string file;
  std::vector<std::string> models;     // as drivers name them
  bool simulated = false;              // measured on simulated machines
  std::map<int, Thresholds> by_ranks;  // every collective that has two ways, each
};

// Throws UsageError that names the file, the key and what was expected.
TuningTable parse_tuning_table(const std::string& file, std::string_view text);

// All of specs/tuning.
const std::vector<TuningTable>& tuning_tables();

// For every collective that has two ways. Of the tables that name the device's model the one that
// is simulated as it is, else the other, else that of NVIDIA H200; of it the row whose number of
// ranks is nearest, in ratio.
Thresholds built_in_thresholds(const TuningSetup& setup);

// The texts of specs/tuning by file name.
const std::map<std::string, std::string_view>& built_in_tuning();

}  // namespace duet
