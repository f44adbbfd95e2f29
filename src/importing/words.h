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

// Calls `take` with each line. A UsageError of it gets the line's number in front of it: "7: ". A
// line by which a program says that it failed is an error too: what was printed is not whole.
void for_each(const std::vector<Line>& lines, const std::function<void(const Line&)>& take);

// Calls `take`. A UsageError of it gets the place in front of it: "results[2]: ".
void at_place(const std::string& place, const std::function<void()>& take);

// What stands between white space.
std::vector<std::string> words_of(std::string_view text);

// What stands between two or more spaces, or tabs: the heads of a table's columns.
std::vector<std::string> columns_of(std::string_view text);

// What stands between commas, without white space around it.
std::vector<std::string> cells_of(std::string_view text);

// The whole word as a number, 0 or more and finite; a count also fits std::int64_t.
std::optional<double> amount_of(std::string_view word);
std::optional<std::int64_t> count_of(std::string_view word);

// A number as a tool prints it: what was rounded lies within `half_unit` of it.
struct Printed {
  double value = 0;
  double half_unit = 0;  // half a unit of the last digit that is printed
  int digits = 0;        // that are significant
};

// The whole word as a printed number, as amount_of.
std::optional<Printed> printed_of(std::string_view word);

// The number behind a label, which may have a colon: 4 of "nGpus 4" and of "nGpus: 4". What follows
// its digits may be anything.
std::optional<std::int64_t> number_behind(std::string_view text, std::string_view label);

// The text from behind the label on; "" if the label is missing.
std::string_view behind(std::string_view text, std::string_view label);

bool begins_with(std::string_view text, std::string_view head);
bool holds(std::string_view text, std::string_view part);

// The text after `label`, up to white space or a comma; "" if the label is missing.
std::string word_behind(std::string_view text, std::string_view label);

}  // namespace duet
