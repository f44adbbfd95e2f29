#include "gemm/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/random.h"

namespace duet {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr double kMostExponent = 10;
constexpr std::string_view kZipf = "zipf:";

// For each group the probability that a row goes to it or to one before it.
std::vector<double> sums_of_probabilities(double exponent, int groups) {
  std::vector<double> sums;
  double sum = 0;
  for (int group = 0; group < groups; ++group) {
    sum += std::pow(group + 1.0, -exponent);
    sums.push_back(sum);
  }
  for (double& each : sums) each /= sum;
  return sums;
}

}  // namespace

Routing parse_routing(std::string_view text) {
  if (text == "equal") return {Routing::Kind::equal};
  if (text == "uniform") return {Routing::Kind::uniform};
  if (text.substr(0, kZipf.size()) == kZipf) {
    const std::string_view number = text.substr(kZipf.size());
    const char* end = number.data() + number.size();
    double exponent = 0;
    const auto [rest, error] = std::from_chars(number.data(), end, exponent);
    if (error == std::errc() && rest == end && exponent > 0 && exponent <= kMostExponent) {
      return {Routing::Kind::zipf, exponent};
    }
  }
  throw UsageError(
      fmt::format("routing '{}': expected equal, uniform or zipf:S with an exponent S above 0 and "
                  "up to {}, such as zipf:1.2",
                  text, kMostExponent));
}

std::string name(const Routing& routing) {
  switch (routing.kind) {
    case Routing::Kind::equal:
      return "equal";
    case Routing::Kind::uniform:
      return "uniform";
    case Routing::Kind::zipf:
      return fmt::format("{}{}", kZipf, routing.exponent);
  }
  return "?";
}

std::vector<std::int64_t> rows_of_groups(const Routing& routing, int groups, std::int64_t mean) {
  const auto count = static_cast<std::size_t>(groups);
  if (routing.kind == Routing::Kind::equal) return std::vector<std::int64_t>(count, mean);
  std::vector<std::int64_t> rows(count);
  const std::vector<double> sums = sums_of_probabilities(routing.exponent, groups);
  const std::uint64_t all = count * static_cast<std::uint64_t>(mean);
  for (std::uint64_t row = 0; row < all; ++row) {
    const double drawn = std::ldexp(static_cast<double>(random_word(kSeed, row) >> 11), -53);
    const auto group = std::upper_bound(sums.begin(), sums.end(), drawn) - sums.begin();
    ++rows[std::min(static_cast<std::size_t>(group), count - 1)];
  }
  return rows;
}

}  // namespace duet
