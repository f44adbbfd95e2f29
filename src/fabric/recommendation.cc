#include <algorithm>
#include <string>
#include <utility>

#include "fabric/cases.h"
#include "fabric/operation.h"

namespace duet {
namespace {

constexpr double kAsFast = 1.02;

struct Timed {
  RailMode mode;
  double seconds;
};

struct Group {
  CaseId id;  // its axes without the mode
  std::vector<Timed> modes;
};

int posts(RailMode mode) {
  return mode == RailMode::single ? 0 : mode == RailMode::round_robin ? 1 : 2;
}

std::vector<Group> groups_of(const std::vector<Finished>& finished) {
  std::vector<Group> groups;
  for (const Finished& each : finished) {
    if (each.id.benchmark != "fabric" || each.median_seconds <= 0) continue;
    const auto mode = each.id.axes.text("mode");
    if (!mode) continue;
    Group group{each.id, {}};
    group.id.axes = each.id.axes.without({"mode"});
    auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& other) {
      return other.id.axes == group.id.axes && other.id.device == group.id.device;
    });
    if (found == groups.end()) found = groups.insert(groups.end(), group);
    found->modes.push_back({parse_rail_mode(*mode), each.median_seconds});
  }
  return groups;
}

Measurement recommended(const Group& group) {
  const auto faster = [](const Timed& a, const Timed& b) { return a.seconds < b.seconds; };
  const auto [best, worst] = std::minmax_element(group.modes.begin(), group.modes.end(), faster);
  Timed chosen = *best;
  double against = worst->seconds;
  for (const Timed& each : group.modes) {
    if (each.mode == RailMode::single) against = each.seconds;
    const bool as_fast = each.seconds <= best->seconds * kAsFast;
    if (as_fast && posts(each.mode) < posts(chosen.mode)) chosen = each;
  }
  Measurement result;
  result.id = group.id;
  result.id.benchmark = "fabric_recommendation";
  result.id.axes.set("mode", std::string(name(chosen.mode)));
  result.rates.emplace_back("times_as_fast", against / chosen.seconds);
  return result;
}

}  // namespace

std::vector<Measurement> recommend_rails(const std::vector<Finished>& finished) {
  std::vector<Measurement> results;
  for (const Group& group : groups_of(finished)) {
    if (group.modes.size() > 1) results.push_back(recommended(group));
  }
  return results;
}

}  // namespace duet
