#pragma once

#include <string>
#include <vector>

#include "core/stored_file.h"
#include "overlap/advisor/device_table.h"

namespace duet {

// What a file of these tables contains.
std::string tables_text(const std::vector<DeviceTable>& tables);

// The file in which `duet advise --measure` keeps tables: one per device and number of ranks.
class TableFile {
 public:
  // $DUET_ADVICE, else $XDG_CONFIG_HOME/duet/advice.json, else ~/.config/duet/advice.json.
  static std::string usual_path();

  // Reads the file. A file that does not exist has no tables. Throws UsageError, naming the file
  // and what was expected, where the file cannot be read or parsed.
  explicit TableFile(const std::string& path);

  const std::vector<DeviceTable>& tables() const { return tables_; }
  const DeviceTable* find(const std::string& device, int ranks) const;  // nullptr: none

  // Stores a table and replaces the one for the same device and number of ranks. The file is read
  // again first, so tables that other processes have stored stay. Throws UsageError where the file
  // cannot be written.
  void store(const DeviceTable& table);

  // Throws UsageError where store() could not write.
  void require_writable() const { file_.require_writable(); }

 private:
  StoredFile file_;
  std::vector<DeviceTable> tables_;
};

}  // namespace duet
