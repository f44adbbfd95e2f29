#include "core/units.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace duet {
namespace {

struct Unit {
  std::string_view suffix;
  std::uint64_t bytes;
};
constexpr std::uint64_t kKi = 1ull << 10, kMi = 1ull << 20, kGi = 1ull << 30;
constexpr std::array<Unit, 11> kUnits{{{"", 1},
                                       {"B", 1},
                                       {"K", kKi},
                                       {"M", kMi},
                                       {"G", kGi},
                                       {"KiB", kKi},
                                       {"MiB", kMi},
                                       {"GiB", kGi},
                                       {"KB", 1000},
                                       {"MB", 1000000},
                                       {"GB", 1000000000}}};

bool same_word(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(a[i])) !=
        std::tolower(static_cast<unsigned char>(b[i]))) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  return std::string(text);
}

std::uint64_t parse_bytes(std::string_view text) {
  const std::string word = trim(text);
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
  if (error == std::errc()) {
    const std::string suffix = trim(std::string_view(end, word.data() + word.size() - end));
    for (const Unit& unit : kUnits) {
      if (!same_word(suffix, unit.suffix)) continue;
      if (count > std::numeric_limits<std::uint64_t>::max() / unit.bytes) break;
      return count * unit.bytes;
    }
  }
  throw UsageError(fmt::format(
      "'{}' is not a size: expected a whole number of bytes, or one with K, M, G (binary), KiB, "
      "MiB, GiB, KB, MB or GB",
      text));
}

std::string format_bytes(std::uint64_t bytes) {
  for (const auto& [suffix, size] : {Unit{"GiB", kGi}, Unit{"MiB", kMi}, Unit{"KiB", kKi}}) {
    if (bytes >= size && bytes % size == 0) return fmt::format("{} {}", bytes / size, suffix);
  }
  return fmt::format("{} B", bytes);
}

std::string short_bytes(std::uint64_t bytes) {
  if (bytes > 0 && bytes % (1 << 20) == 0) return fmt::format("{}M", bytes >> 20);
  if (bytes > 0 && bytes % (1 << 10) == 0) return fmt::format("{}K", bytes >> 10);
  return std::to_string(bytes);
}

std::string format_seconds(double seconds) {
  const double magnitude = std::fabs(seconds);
  if (magnitude >= 1) return fmt::format("{:.3f} s", seconds);
  if (magnitude >= 1e-3) return fmt::format("{:.3f} ms", seconds * 1e3);
  if (magnitude >= 1e-6) return fmt::format("{:.2f} us", seconds * 1e6);
  return fmt::format("{:.1f} ns", seconds * 1e9);
}

std::string format_rate(double value) {
  const double magnitude = std::fabs(value);
  if (magnitude >= 1000) return fmt::format("{:.0f}", value);
  if (magnitude >= 100) return fmt::format("{:.1f}", value);
  if (magnitude >= 10) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::vector<std::uint64_t> seed_sizes() {
  constexpr std::uint64_t kSmallest = 4096, kLargest = 4096ull * 128256 * 4;
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = kSmallest; bytes <= kLargest; bytes *= 2) sizes.push_back(bytes);
  sizes.push_back(kLargest);
  return sizes;
}

}  // namespace duet
