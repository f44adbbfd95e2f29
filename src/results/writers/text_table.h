// Aligned columns of text. ASCII: widths are counted in bytes.
#pragma once

#include <string>
#include <vector>

namespace duet {

enum class Align { left, right };

struct Column {
  std::string heading;
  Align align = Align::left;
  std::size_t width = 0;  // at least; the heading always fits
};

// A line with two blanks between the columns and none at its end. Cells beyond the columns are put
// behind the last one.
std::string table_header(const std::vector<Column>& columns);
std::string table_row(const std::vector<Column>& columns, const std::vector<std::string>& cells);

// Header and rows, the columns as wide as their widest cell; every line ends in a newline and
// starts with `indent`.
std::string table(std::vector<Column> columns, const std::vector<std::vector<std::string>>& rows,
                  const std::string& indent);

}  // namespace duet
