#include "importing/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <locale>
#include <sstream>

#include "core/error.h"
#include "core/units.h"

namespace duet {
namespace {

constexpr std::string_view kSpace = " \t\r\f\v";

bool all_digits(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back({number, line});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void for_each(const std::vector<Line>& lines, const std::function<void(std::string_view)>& take) {
  for (const Line& line : lines) {
    try {
      take(line.text);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}: {}", line.number, error.what()));
    }
  }
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; (begin = text.find_first_not_of(kSpace, begin)) < text.size();) {
    const std::size_t end = std::min(text.find_first_of(kSpace, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

std::vector<std::string> columns_of(std::string_view text) {
  std::vector<std::string> columns;
  while (!text.empty()) {
    const std::size_t end = std::min({text.find("  "), text.find('\t'), text.size()});
    const std::string column = trim(text.substr(0, end));
    if (!column.empty()) columns.push_back(column);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return columns;
}

std::vector<std::string> cells_of(std::string_view text) {
  std::vector<std::string> cells;
  while (true) {
    const std::size_t comma = text.find(',');
    cells.push_back(trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    text.remove_prefix(comma + 1);
  }
}

// By a stream, since GCC 10 has no std::from_chars of floating-point numbers.
std::optional<double> amount_of(std::string_view word) {
  if (word.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return std::nullopt;
  if (word.empty() || word.front() == '+' || word.front() == '-') return std::nullopt;
  std::istringstream in{std::string(word)};
  in.imbue(std::locale::classic());
  double value = 0;
  in >> value;
  if (in.fail() || in.peek() != std::istringstream::traits_type::eof()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> count_of(std::string_view word) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (!all_digits(word) || error != std::errc()) return std::nullopt;
  return value;
}

bool begins_with(std::string_view text, std::string_view head) {
  return text.substr(0, head.size()) == head;
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string word_behind(std::string_view text, std::string_view label) {
  const std::size_t found = text.find(label);
  if (found == std::string_view::npos) return "";
  const std::string rest = trim(text.substr(found + label.size()));
  return rest.substr(0, rest.find_first_of(" \t,"));
}

}  // namespace duet
