#include "importing/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <locale>
#include <sstream>

#include "core/error.h"
#include "core/units.h"

namespace duet {
namespace {

constexpr std::string_view kSpace = " \t\r\f\v";

constexpr std::string_view kDigits = "0123456789";

bool all_digits(std::string_view word) {
  return !word.empty() && word.find_first_not_of(kDigits) == std::string_view::npos;
}

// What the C library, nccl-tests, nvbandwidth, OSU and starters of MPI print of a program that
// ends before its time.
constexpr std::string_view kFailures[] = {
    "Assertion `",          "Assertion '",           "Assertion failed",
    " in expression ",      "[CUDA_ERROR_",          "Invalid value when checking the pattern",
    "Segmentation fault",   "(core dumped)",         ": Test NCCL failure",
    ": Test CUDA failure",  ": Test failure",        ": Test timeout",
    "MPI call failed with", "MPI_ABORT was invoked", "exited on signal",
    "BAD TERMINATION"};

bool tells_failure(std::string_view line) {
  return std::any_of(std::begin(kFailures), std::end(kFailures),
                     [&](std::string_view failure) { return holds(line, failure); });
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

void for_each(const std::vector<Line>& lines, const std::function<void(const Line&)>& take) {
  for (const Line& line : lines) {
    at_place(std::to_string(line.number), [&] {
      if (tells_failure(line.text)) {
        throw UsageError(fmt::format("a program failed: \"{}\": expected the output of a whole run",
                                     trim(line.text.substr(0, 120))));
      }
      take(line);
    });
  }
}

void at_place(const std::string& place, const std::function<void()>& take) {
  try {
    take();
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", place, error.what()));
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

std::optional<Printed> printed_of(std::string_view word) {
  const auto value = amount_of(word);
  if (!value) return std::nullopt;
  const std::string_view mantissa = word.substr(0, word.find_first_of("eE"));
  int power = 0;  // of ten, of the last digit
  if (mantissa.size() < word.size()) {
    std::string_view exponent = word.substr(mantissa.size() + 1);
    if (begins_with(exponent, "+")) exponent.remove_prefix(1);
    std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);
  }
  Printed printed{*value, 0, 0};
  const std::size_t point = mantissa.find('.');
  if (point != std::string_view::npos) power -= static_cast<int>(mantissa.size() - point - 1);
  printed.half_unit = 0.5 * std::pow(10.0, power);
  bool leading = true;
  for (const char c : mantissa) {
    leading = leading && (c == '0' || c == '.');
    if (!leading && c != '.') ++printed.digits;
  }
  return printed;
}

std::optional<std::int64_t> number_behind(std::string_view text, std::string_view label) {
  std::string rest = trim(behind(text, label));
  if (begins_with(rest, ":")) rest = trim(rest.substr(1));
  return count_of(
      std::string_view(rest).substr(0, std::min(rest.find_first_not_of(kDigits), rest.size())));
}

std::string_view behind(std::string_view text, std::string_view label) {
  const std::size_t found = text.find(label);
  return found == std::string_view::npos ? std::string_view() : text.substr(found + label.size());
}

bool begins_with(std::string_view text, std::string_view head) {
  return text.substr(0, head.size()) == head;
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string word_behind(std::string_view text, std::string_view label) {
  const std::string rest = trim(behind(text, label));
  return rest.substr(0, rest.find_first_of(" \t,"));
}

}  // namespace duet
