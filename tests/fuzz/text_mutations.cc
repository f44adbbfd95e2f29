#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "mutations.h"

namespace duet {
namespace {

using namespace std::string_view_literals;

constexpr std::array<std::string_view, 28> kPieces = {"\0"sv,
                                                      "\n"sv,
                                                      "\r\n"sv,
                                                      "\""sv,
                                                      "\\"sv,
                                                      "\\u0000"sv,
                                                      "\\ud800"sv,
                                                      "{"sv,
                                                      "}"sv,
                                                      "["sv,
                                                      "]"sv,
                                                      ","sv,
                                                      ":"sv,
                                                      "\xff"sv,
                                                      "\t"sv,
                                                      "\x1b["sv,
                                                      "\xc3"sv,
                                                      "null"sv,
                                                      "NaN"sv,
                                                      "-"sv,
                                                      "e"sv,
                                                      "."sv,
                                                      "//"sv,
                                                      "[1,\n2]"sv,
                                                      "{}"sv,
                                                      "\xef\xbb\xbf"sv,
                                                      "\"schema\":1,"sv,
                                                      "\"median\":[],"sv};

constexpr std::array<std::string_view, 14> kNumbers = {"0",
                                                       "-0.0",
                                                       "-1",
                                                       "1e308",
                                                       "1e309",
                                                       "-1e308",
                                                       "5e-324",
                                                       "9223372036854775807",
                                                       "9223372036854775808",
                                                       "18446744073709551615",
                                                       "18446744073709551616",
                                                       "-9223372036854775808",
                                                       "0.1e-400",
                                                       "00"};

void flip_bits(std::string& text, const std::string&, Dice& dice) {
  if (text.empty()) return;
  char& c = text[dice.below(text.size())];
  c = static_cast<char>(c ^ (1 << dice.below(8)));
}

void insert_piece(std::string& text, const std::string&, Dice& dice) {
  text.insert(dice.below(text.size() + 1), dice.one_of(kPieces));
}

void delete_some(std::string& text, const std::string&, Dice& dice) {
  const std::size_t longest = dice.below(4) == 0 ? 400 : 4;
  text.erase(dice.below(text.size() + 1), 1 + dice.below(longest));
}

void cut_short(std::string& text, const std::string&, Dice& dice) {
  text.resize(dice.below(text.size() + 1));
}

// The head of one text and the tail of another, as two writers of one file would leave them.
void splice(std::string& text, const std::string& other, Dice& dice) {
  const std::size_t at = dice.below(text.size() + 1);
  text = text.substr(0, at) + other.substr(dice.below(other.size() + 1));
}

void repeat_some(std::string& text, const std::string&, Dice& dice) {
  const std::string piece = text.substr(dice.below(text.size() + 1), 1 + dice.below(600));
  text.insert(dice.below(text.size() + 1), piece);
}

void other_number(std::string& text, const std::string&, Dice& dice) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto from = text.begin() + static_cast<std::ptrdiff_t>(dice.below(text.size() + 1));
  const auto begin = std::find_if(from, text.end(), is_digit);
  const auto end = std::find_if_not(begin, text.end(), [](unsigned char c) {
    return std::isdigit(c) != 0 || c == '.' || c == 'e' || c == '-';
  });
  text.replace(begin, end, dice.one_of(kNumbers));
}

void nest(std::string& text, const std::string&, Dice& dice) {
  const std::size_t depth = dice.below(16) == 0 ? 100000 : 1 + dice.below(80);
  const std::size_t at = text.find(':', dice.below(text.size() + 1));
  if (at == std::string::npos) return;
  std::string piece(depth, '[');
  if (dice.below(2) == 0) piece += std::string(depth, ']') + ",\"x\":";
  text.insert(at + 1, piece);
}

void end_lines_otherwise(std::string& text, const std::string&, Dice& dice) {
  const std::string_view end = std::array{"\r\n"sv, "\n\n"sv, "\r"sv, " "sv}[dice.below(4)];
  std::string out;
  for (const char c : text) out += c == '\n' ? std::string(end) : std::string(1, c);
  text = out;
}

constexpr std::array kTextMutations = {flip_bits, insert_piece,       delete_some,  cut_short,
                                       splice,    repeat_some,        other_number, other_number,
                                       nest,      end_lines_otherwise};

}  // namespace

void damage_text(std::string& text, const std::string& other, Dice& dice) {
  dice.one_of(kTextMutations)(text, other, dice);
}

}  // namespace duet
