#include "fabric/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <sstream>
#include <utility>

#include "core/error.h"
#include "core/units.h"
#include "fabric/rail_set.h"

namespace duet {
namespace {

// By NUMA node, then by PCIe hops to the device.
std::pair<int, int> distance(const RailInfo& rail, int numa_node) {
  constexpr const char* kLoopback = "lo";
  const int hops = rail.pci_hops < 0 ? INT_MAX : rail.pci_hops;
  if (rail.name == kLoopback) return {3, hops};
  if (rail.numa_node < 0 || numa_node < 0) return {1, hops};
  return {rail.numa_node == numa_node ? 0 : 2, hops};
}

std::string list(const std::vector<RailInfo>& rails) {
  std::string text;
  for (const RailInfo& rail : rails) text += (text.empty() ? "" : ", ") + rail_name(rail);
  return text;
}

std::vector<RailInfo> first(std::vector<RailInfo> there, std::size_t count) {
  if (count == 0 || count > there.size()) {
    throw UsageError(
        fmt::format("--rails {}: expected 1 to {} of {}", count, there.size(), list(there)));
  }
  there.resize(count);
  return there;
}

std::vector<RailInfo> named(const std::vector<RailInfo>& there, const std::string& wanted) {
  std::vector<RailInfo> chosen;
  std::istringstream words(wanted + ',');  // so that a comma ends every name
  for (std::string word; std::getline(words, word, ',');) {
    word = trim(word);
    const auto fits = [&](const RailInfo& rail) {
      return rail.name == word || rail.address == word;
    };
    const auto found = std::find_if(there.begin(), there.end(), fits);
    if (found == there.end()) {
      throw UsageError(fmt::format(
          "--rails: there is no '{}': expected a number, all or some of {}", word, list(there)));
    }
    if (std::any_of(chosen.begin(), chosen.end(),
                    [&](const RailInfo& rail) { return rail_name(rail) == rail_name(*found); })) {
      throw UsageError(fmt::format("--rails: {} is given twice: expected different rails", word));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

}  // namespace

std::vector<RailInfo> select_rails(std::vector<RailInfo> there, const std::string& wanted,
                                   int numa_node) {
  std::stable_sort(there.begin(), there.end(), [&](const RailInfo& a, const RailInfo& b) {
    return distance(a, numa_node) < distance(b, numa_node);
  });
  if (wanted.empty()) return first(std::move(there), 1);
  if (wanted == "all") {
    if (there.size() > 1 && there.back().name == "lo") there.pop_back();
    return there;
  }
  std::size_t count = 0;
  const char* end = wanted.data() + wanted.size();
  const auto [rest, error] = std::from_chars(wanted.data(), end, count);
  if (error == std::errc() && rest == end) return first(std::move(there), count);
  return named(there, wanted);
}

std::vector<RailInfo> share_rails(const std::vector<RailInfo>& rails, int local, int locals) {
  const auto all = static_cast<int>(rails.size());
  if (all == 0 || local < 0 || local >= locals) {
    throw BadArgument(
        fmt::format("rank {} of {} on its node: expected a rail to share", local, locals));
  }
  const int each = std::max(1, all / locals);
  const auto first = rails.begin() + local * each % all;
  return {first, first + each};
}

}  // namespace duet
