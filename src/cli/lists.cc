#include "cli/lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "core/error.h"
#include "core/units.h"

namespace duet {
namespace {

std::uint64_t parse_size(const std::string& text) {
  const std::uint64_t bytes = parse_bytes(text);
  if (bytes == 0) throw UsageError("--sizes: 0 bytes cannot be measured: expected 1 or more");
  return bytes;
}

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1) {
    parts.push_back(trim(text.substr(begin, end - begin)));
  }
  parts.push_back(trim(text.substr(begin)));
  return parts;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words = split(text, ' ');
  words.erase(std::remove(words.begin(), words.end(), ""), words.end());
  return words;
}

std::vector<std::uint64_t> parse_sizes(const std::string& text) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& part : split(text, ',')) {
    const std::size_t dots = part.find("..");
    if (part == "seed") {
      for (const std::uint64_t bytes : seed_sizes()) sizes.push_back(bytes);
    } else if (dots == std::string::npos) {
      sizes.push_back(parse_size(part));
    } else {
      const std::uint64_t low = parse_size(part.substr(0, dots));
      const std::uint64_t high = parse_size(part.substr(dots + 2));
      if (low > high) {
        throw UsageError(fmt::format("--sizes {}: expected MIN..MAX with MIN <= MAX", part));
      }
      // `bytes <= high / 2` prevents an overflow of the doubling.
      std::uint64_t bytes = low;
      for (sizes.push_back(bytes); bytes <= high / 2; sizes.push_back(bytes)) bytes *= 2;
    }
  }
  // Ascending, because curves are read from small to large.
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::vector<std::uint64_t> size_range(std::uint64_t low, std::uint64_t high, std::uint64_t step,
                                      std::uint64_t factor) {
  constexpr std::size_t kMostSizes = 1000;
  if (low == 0 || low > high) {
    throw UsageError(fmt::format(
        "sizes from {} to {} bytes: expected -b of 1 or more, and -e not below -b", low, high));
  }
  if (step == 0 && factor < 2) throw UsageError("-f: expected a factor of 2 or more");
  std::vector<std::uint64_t> sizes{low};
  // The comparison comes before the step, which could overflow.
  while (step > 0 ? sizes.back() <= high - std::min(high, step) : sizes.back() <= high / factor) {
    sizes.push_back(step > 0 ? sizes.back() + step : sizes.back() * factor);
    if (sizes.size() > kMostSizes) {
      throw UsageError(fmt::format("over {} sizes: expected a larger -i or -f", kMostSizes));
    }
  }
  return sizes;
}

std::vector<std::pair<int, int>> parse_pairs(const std::string& text) {
  std::vector<std::pair<int, int>> pairs;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> ends = split(part, '-');
    if (ends.size() != 2) {
      throw UsageError(fmt::format(
          "--pairs: '{}' is not a pair of devices: expected FROM-TO, such as 0-1", part));
    }
    pairs.emplace_back(parse_number(ends[0], 0, "--pairs"), parse_number(ends[1], 0, "--pairs"));
  }
  return pairs;
}

int parse_number(const std::string& text, int low, const std::string& what, int high) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < low || value > high) {
    throw UsageError(
        fmt::format("{} {}: expected a whole number from {} to {}", what, text, low, high));
  }
  return value;
}

double parse_positive(const std::string& text, const char* what) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool whole = !text.empty() && *end == '\0';
  if (whole && std::isfinite(value) && value > 0) return value;
  throw UsageError(fmt::format("{} {}: expected a number above 0", what, text));
}

}  // namespace duet
