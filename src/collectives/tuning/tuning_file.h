#pragma once

#include <string>
#include <vector>

#include "collectives/tuning/thresholds.h"
#include "core/stored_file.h"

namespace duet {

// The file in which `duet collective --tune` keeps thresholds: one entry per setup.
class TuningFile {
 public:
  struct Entry {
    TuningSetup setup;
    Thresholds thresholds;   // changeovers()
    BesideNccl beside_nccl;  // beside_nccl(); empty where NCCL was not measured
  };

  // $DUET_TUNING, else $XDG_CONFIG_HOME/duet/tuning.json, else ~/.config/duet/tuning.json; "" where
  // none of these variables (HOME included) is set.
  static std::string usual_path();

  // Reads the file. A file that does not exist, or an empty path, has no entries. Throws
  // UsageError, naming the file and what was expected, where the file cannot be read or parsed.
  explicit TuningFile(std::string path);

  Thresholds thresholds(const TuningSetup& setup) const;
  const std::vector<Entry>& entries() const { return entries_; }

  // Adds thresholds of one setup to the file. The file is read again, then replaced as a whole:
  // entries of other setups stay, and so do this setup's thresholds of other collectives. Creates
  // the folder. Throws UsageError where the file cannot be written.
  void store(const TuningSetup& setup, const Thresholds& thresholds,
             const BesideNccl& beside_nccl = {});

  // Throws UsageError where store() could not write. Does not change the file.
  void require_writable() const { file_.require_writable(); }

 private:
  void read();
  void write() const;

  StoredFile file_;
  std::vector<Entry> entries_;
};

// Thresholds as JSON, as the file has them: {"all_gather":10485760,"gather":null}; null: kNever.
std::string thresholds_text(const Thresholds& thresholds);
// Throws UsageError whose message begins with `source`.
Thresholds parse_thresholds(const std::string& text, const std::string& source);

// A line of `duet info`: the sizes from which the engine auto uses copy engines on this machine; ""
// for one device.
std::string tuning_text(Machine& machine);

}  // namespace duet
