// The file in which `duet collective --tune` keeps thresholds, an entry a setup.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "collectives/tuning/thresholds.h"
#include "core/stored_file.h"

namespace duet {

class TuningFile {
 public:
  // $DUET_TUNING, else $XDG_CONFIG_HOME/duet/tuning.json, else ~/.config/duet/tuning.json; "" where
  // the environment says none of them.
  static std::string usual_path();

  // Reads the file; one that is not there, or has no name, has nothing for any setup. Throws
  // UsageError, naming the file and what was expected, where it cannot be read or understood.
  explicit TuningFile(std::string path);

  Thresholds thresholds(const TuningSetup& setup) const;

  // Puts what was measured into the file, which is read again and replaced as a whole: entries of
  // other setups stay, and so does what this one has of other collectives. Makes its folder. Throws
  // UsageError where it cannot be written.
  void store(const TuningSetup& setup, const Thresholds& thresholds);

  // Throws UsageError where store() could not write; leaves the file as it is.
  void require_writable() const { file_.require_writable(); }

 private:
  using Entry = std::pair<TuningSetup, Thresholds>;

  void read();
  void write() const;

  StoredFile file_;
  std::vector<Entry> entries_;
};

// What was measured, as the file has it: {"all_gather":10485760,"gather":null}, null for never.
std::string thresholds_text(const Thresholds& thresholds);
// Throws UsageError that begins with `source`.
Thresholds parse_thresholds(const std::string& text, const std::string& source);

}  // namespace duet
