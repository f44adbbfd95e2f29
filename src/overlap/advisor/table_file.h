// The file in which `duet advise --measure` keeps tables, one for each device and number of ranks.
#pragma once

#include <string>
#include <vector>

#include "core/stored_file.h"
#include "overlap/advisor/device_table.h"

namespace duet {

class TableFile {
 public:
  // $DUET_ADVICE, else $XDG_CONFIG_HOME/duet/advice.json, else ~/.config/duet/advice.json.
  static std::string usual_path();

  // One that is not there has no tables. Throws UsageError, naming the file and what was expected,
  // where it cannot be read or understood.
  explicit TableFile(const std::string& path);

  const std::vector<DeviceTable>& tables() const { return tables_; }
  const DeviceTable* find(const std::string& device, int ranks) const;  // nullptr: none

  // In the place of the one for the same device and ranks. The file is read again first: tables
  // that others have stored stay. Throws UsageError where it cannot be written.
  void store(const DeviceTable& table);

  // Throws UsageError where store() could not write.
  void require_writable() const { file_.require_writable(); }

 private:
  StoredFile file_;
  std::vector<DeviceTable> tables_;
};

}  // namespace duet
