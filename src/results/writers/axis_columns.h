#pragma once

#include <string>
#include <vector>

#include "results/writers/text_table.h"
#include "timing/measurement.h"

namespace duet {

// Divides the axes of a list of cases: those that vary get a column, those that all cases share are
// printed once above the table.
class AxisColumns {
 public:
  // `answer`: an axis that gets a column even if all cases share its value.
  explicit AxisColumns(const std::vector<CaseId>& cases, const std::string& answer = "");

  // The axes that all cases share, without values that are 0 or empty: "dtype bf16, layout nn,
  // engine model".
  const std::string& shared() const { return shared_; }
  // A column for each axis that varies, as wide as its widest text. Source and destination share
  // the column `path`.
  const std::vector<Column>& columns() const { return columns_; }
  std::vector<std::string> cells(const CaseId& id) const;

 private:
  std::vector<std::string> names_;  // axes of the columns, in order
  std::vector<Column> columns_;
  std::string shared_;
};

// The text of an axis in a table: "64 KiB" for `bytes`, "0 > 1" for `path` (source and
// destination). `axis` may be "device" or "engine" as well. "" if the case does not have the axis.
std::string axis_cell(const CaseId& id, const std::string& axis);

// The axes as one short text, without labels and values that are 0 or empty: "8192 x 8192 x 8192
// bf16 bf16 nn", "peer dma push pair 64 KiB 0 > 1 2-way".
std::string case_text(const CaseId& id);

// The whole case on one line: "gemm on host, onednn, 8192 x 8192 x 8192 bf16 bf16 nn".
std::string line_of(const CaseId& id);
bool has_all(const std::string& line, const std::vector<std::string>& words);

}  // namespace duet
