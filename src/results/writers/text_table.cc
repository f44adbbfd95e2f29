#include "results/writers/text_table.h"

#include <algorithm>

#include "core/plain_text.h"

namespace duet {
std::string table_row(const std::vector<Column>& columns, const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = one_line(cells[i]);
    if (i > 0) line += "  ";
    std::size_t padding = 0;
    const bool right = i < columns.size() && columns[i].align == Align::right;
    if (i < columns.size()) {
      const std::size_t width = std::max(columns[i].width, columns[i].heading.size());
      padding = width - std::min(width, cell.size());
    }
    line += right ? std::string(padding, ' ') + cell : cell + std::string(padding, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string table_header(const std::vector<Column>& columns) {
  std::vector<std::string> headings;
  for (const Column& column : columns) headings.push_back(column.heading);
  return table_row(columns, headings);
}

std::string table(std::vector<Column> columns, const std::vector<std::vector<std::string>>& rows,
                  const std::string& indent) {
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < std::min(row.size(), columns.size()); ++i) {
      columns[i].width = std::max(columns[i].width, one_line(row[i]).size());
    }
  }
  std::string text = indent + table_header(columns) + "\n";
  for (const auto& row : rows) text += indent + table_row(columns, row) + "\n";
  return text;
}

std::size_t width_of(const std::string& text) {
  std::size_t width = 0;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    width = std::max(width, end - at);
  }
  return width;
}

}  // namespace duet
