#include "results/writers/missing_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "results/writers/axis_columns.h"

namespace duet {
namespace {

constexpr std::size_t kMostReasons = 6;  // lines

}  // namespace

std::string without_numbers(const std::string& text) {
  std::string out;
  bool in_number = false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) out += c;
    if (digit && !in_number) out += "...";
    in_number = digit;
  }
  return out;
}

std::string missing_lines(const std::vector<Record>& results) {
  struct Reason {
    std::string word, text, first;
    int count = 0;
  };
  std::vector<std::string> keys;
  std::vector<Reason> reasons;
  for (const Record& record : results) {
    const Outcome outcome = record.outcome;
    if (outcome == Outcome::measured || outcome == Outcome::derived) continue;
    const std::string word = outcome == Outcome::wrong ? "WRONG" : name(outcome);
    const std::string& text = record.reason;
    const std::string key = word + without_numbers(text);
    const auto found = std::find(keys.begin(), keys.end(), key);
    const auto at = static_cast<std::size_t>(found - keys.begin());
    if (found == keys.end()) keys.push_back(key);
    if (at == reasons.size()) {
      reasons.push_back({word, text, record.id.engine + " " + case_text(record.id), 0});
    }
    ++reasons[at].count;
    if (reasons[at].text != text) reasons[at].text = without_numbers(text);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i) {
    const Reason& each = reasons[i];
    text +=
        fmt::format("  {} {} {}{}: {}\n", each.count, each.count == 1 ? "case" : "cases", each.word,
                    each.word == "skipped" ? "" : " (" + each.first + ")", each.text);
  }
  if (reasons.size() > kMostReasons) {
    text += fmt::format("  and {} reasons more: --verbose\n", reasons.size() - kMostReasons);
  }
  return text;
}

}  // namespace duet
