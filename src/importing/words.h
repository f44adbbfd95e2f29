// Lines, words and numbers of the text that other tools print.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace duet {

struct Line {
  int number = 0;  // from 1
  std::string_view text;
};

// Without line ends, of which "\r\n" is one. The text must outlive the lines.
std::vector<Line> lines_of(std::string_view text);

// Calls `take` with each line. A UsageError of it gets the line's number in front of it: "7: ".
void for_each(const std::vector<Line>& lines, const std::function<void(std::string_view)>& take);

// What stands between white space.
std::vector<std::string> words_of(std::string_view text);

// What stands between two or more spaces, or tabs: the heads of a table's columns.
std::vector<std::string> columns_of(std::string_view text);

// What stands between commas, without white space around it.
std::vector<std::string> cells_of(std::string_view text);

// The whole word as a number, 0 or more and finite; a count also fits std::int64_t.
std::optional<double> amount_of(std::string_view word);
std::optional<std::int64_t> count_of(std::string_view word);

bool begins_with(std::string_view text, std::string_view head);
bool holds(std::string_view text, std::string_view part);

// The text after `label`, up to white space or a comma; "" if the label is missing.
std::string word_behind(std::string_view text, std::string_view label);

}  // namespace duet
