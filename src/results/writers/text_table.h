// Aligned columns of ASCII text: widths are counted in bytes.
#pragma once

#include <string>
#include <vector>

namespace duet {

enum class Align { left, right };

struct Column {
  std::string heading;
  Align align = Align::left;
  std::size_t width = 0;  // the least width; the column is always as wide as its heading
};

// A line with two blanks between columns and none at its end, without a newline. Cells beyond the
// last column are appended.
std::string table_header(const std::vector<Column>& columns);
std::string table_row(const std::vector<Column>& columns, const std::vector<std::string>& cells);

// Header and rows, with columns as wide as their widest cells. Every line starts with `indent` and
// ends in a newline.
std::string table(std::vector<Column> columns, const std::vector<std::vector<std::string>>& rows,
                  const std::string& indent);

// The length of the longest line.
std::size_t width_of(const std::string& text);

}  // namespace duet
