// Which axes of a list of cases are worth a column, and which are said once above the table.
#pragma once

#include <string>
#include <vector>

#include "results/writers/text_table.h"
#include "timing/measurement.h"

namespace duet {

class AxisColumns {
 public:
  // `answer`: an axis that has a column of its own where all cases share it, too.
  explicit AxisColumns(const std::vector<CaseId>& cases, const std::string& answer = "");

  // "dtype bf16, layout nn, engine model": what all cases share, without zeros and blanks.
  const std::string& shared() const { return shared_; }
  // A column for each axis that varies, as wide as its widest text; source and destination are one.
  const std::vector<Column>& columns() const { return columns_; }
  std::vector<std::string> cells(const CaseId& id) const;

 private:
  std::vector<std::string> names_;  // of the columns, in order
  std::vector<Column> columns_;
  std::string shared_;
};

// "64 KiB" for the axis bytes, "0 > 1" for path (source and destination), "" for an axis that the
// case does not have; the names "device" and "engine" stand for the case's own.
std::string axis_cell(const CaseId& id, const std::string& axis);

// The axes in one short text, without zeros, blanks and labels: "8192 x 8192 x 8192 bf16 bf16 nn",
// "peer dma push pair 64 KiB 0 > 1 2-way".
std::string case_text(const CaseId& id);

}  // namespace duet
