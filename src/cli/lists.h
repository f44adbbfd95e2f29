#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace duet {

// Splits at each separator and trims the parts. Empty parts are kept.
std::vector<std::string> split(const std::string& text, char separator);
// Between spaces.
std::vector<std::string> words_of(const std::string& text);

// Parses the parts between commas; `parse` throws UsageError for a part that it does not know.
template <typename Parse>
auto parse_list(const std::string& text, Parse parse) {
  std::vector<decltype(parse(std::string()))> values;
  for (const std::string& part : split(text, ',')) values.push_back(parse(part));
  return values;
}

// Parses "64K", "4K..2G" (powers of two times the first), "seed" (seed_sizes()), and any of these
// between commas. The sizes are in bytes, ascending, each once. Throws UsageError.
std::vector<std::uint64_t> parse_sizes(const std::string& text);

// Sizes in bytes from `low` to `high`, as the flags of nccl-tests define them: each is the one
// before times `factor`, or plus `step` if `step` is not 0. Throws UsageError for ranges that are
// empty, do not grow, or have more than 1000 sizes.
std::vector<std::uint64_t> size_range(std::uint64_t low, std::uint64_t high, std::uint64_t step,
                                      std::uint64_t factor);

// Parses "0-1,2-3". Throws UsageError.
std::vector<std::pair<int, int>> parse_pairs(const std::string& text);

// The largest count that a flag accepts unless it has another limit.
inline constexpr int kMostCount = 1000000;

// A whole number from `low` to `high`; `what` names the flag. Throws UsageError.
int parse_number(const std::string& text, int low, const std::string& what, int high = kMostCount);

// A finite number above 0; `what` names the flag. Throws UsageError.
double parse_positive(const std::string& text, const char* what);

}  // namespace duet
