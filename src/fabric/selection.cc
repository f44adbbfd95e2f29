// Choosing rails; see selection.h.
#include "fabric/selection.h"

#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "core/units.h"
#include "fabric/rail_set.h"

namespace duet {
namespace {

int distance(const RailInfo& rail, int numa_node) {
  constexpr const char* kLoopback = "lo";
  if (rail.name == kLoopback) return 3;
  if (rail.numa_node < 0 || numa_node < 0) return 1;
  return rail.numa_node == numa_node ? 0 : 2;
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
  std::istringstream words(wanted + ',');  // what a comma ends, the last word as well
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

double interface_gbit_per_s(const std::string& interface) {
  std::ifstream file("/sys/class/net/" + interface + "/speed");
  double mbit = 0;
  return file >> mbit && mbit > 0 ? mbit / 1e3 : 0;
}

int numa_node_of(hwloc_topology_t topology, const std::string& nic) {
  for (hwloc_obj_t each = nullptr; (each = hwloc_get_next_osdev(topology, each)) != nullptr;) {
    if (each->name == nullptr || nic != each->name) continue;
    const hwloc_obj_t parent = hwloc_get_non_io_ancestor_obj(topology, each);
    const bool one = parent != nullptr && hwloc_bitmap_weight(parent->nodeset) == 1;
    if (one) return hwloc_bitmap_first(parent->nodeset);
  }
  return -1;
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

void describe_rails(std::vector<RailInfo>& rails) {
  for (RailInfo& rail : rails) {
    if (rail.gbit_per_s <= 0) rail.gbit_per_s = interface_gbit_per_s(rail.name);
  }
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return;
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(topology) == 0) {
    for (RailInfo& rail : rails) rail.numa_node = numa_node_of(topology, rail.name);
  }
  hwloc_topology_destroy(topology);
}

}  // namespace duet
