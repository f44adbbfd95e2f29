#include "collectives/skew.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/names.h"
#include "core/random.h"

namespace duet {
namespace {

constexpr std::uint64_t kSeed = 2024;       // seed of the random shares
constexpr std::uint64_t kShares = 1 << 10;  // a pair's largest random share

std::uint64_t share(Skew skew, int from, int to, int ranks) {
  if (skew == Skew::even) return 1;
  if (skew == Skew::one_heavy)
    return to == 0 ? static_cast<std::uint64_t>(std::max(1, ranks - 1)) : 1;
  return random_word(kSeed, static_cast<std::uint64_t>(from * ranks + to)) % kShares;
}

constexpr NamedValue<Skew> kSkews[] = {
    {Skew::even, "even"}, {Skew::random, "random"}, {Skew::one_heavy, "one_heavy"}};

}  // namespace

std::string_view name(Skew skew) { return name_of(kSkews, skew); }

Skew parse_skew(std::string_view text) { return parse_name(kSkews, "--skew: unknown skew", text); }

std::vector<std::uint64_t> skewed_counts(Skew skew, DType dtype, std::uint64_t bytes, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::uint64_t> shares, sent(n, 0), received(n, 0);
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      shares.push_back(share(skew, from, to, ranks));
      sent[static_cast<std::size_t>(from)] += shares.back();
      received[static_cast<std::size_t>(to)] += shares.back();
    }
  }
  const std::uint64_t most =
      std::max<std::uint64_t>(1, std::max(*std::max_element(sent.begin(), sent.end()),
                                          *std::max_element(received.begin(), received.end())));
  // Divided first: shares of the largest sizes would overflow a product.
  const double unit = static_cast<double>(bytes / size_of(dtype)) / static_cast<double>(most);
  for (std::uint64_t& each : shares) {
    each = static_cast<std::uint64_t>(unit * static_cast<double>(each));
  }
  return shares;
}

}  // namespace duet
