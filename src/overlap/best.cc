#include <algorithm>
#include <string>
#include <utility>

#include "overlap/cases.h"

namespace duet {
namespace {

struct Scenario {
  std::string name;
  bool in_place;
  std::vector<const Finished*> cases;
};

std::string kind_of(const Finished& one) {
  const std::string policy = one.id.axes.text("policy").value_or("");
  return policy.substr(0, policy.find(':'));
}

std::vector<Scenario> scenarios_of(const std::vector<Finished>& finished) {
  std::vector<Scenario> all;
  for (const Finished& one : finished) {
    if (one.id.benchmark != "overlap" || one.median_seconds <= 0) continue;
    const std::string name = one.id.axes.text("scenario").value_or("");
    const bool in_place = one.id.axes.flag("in_place").value_or(false);
    const auto same = std::find_if(all.begin(), all.end(), [&](const Scenario& each) {
      return each.name == name && each.in_place == in_place;
    });
    if (same != all.end()) {
      same->cases.push_back(&one);
    } else {
      all.push_back({name, in_place, {&one}});
    }
  }
  return all;
}

Measurement best_of(const Scenario& scenario) {
  const auto faster = [](const Finished* a, const Finished* b) {
    return a->median_seconds < b->median_seconds;
  };
  const Finished& best = **std::min_element(scenario.cases.begin(), scenario.cases.end(), faster);
  double next = 0;
  for (const Finished* each : scenario.cases) {
    if (kind_of(*each) == kind_of(best)) continue;
    next = next > 0 ? std::min(next, each->median_seconds) : each->median_seconds;
  }
  Measurement measurement;
  measurement.id = {"overlap_best", best.id.device, best.id.engine, {}};
  for (const char* name : {"scenario", "origin", "collective", "in_place", "policy", "ranks"}) {
    if (const AxisValue* value = best.id.axes.find(name)) measurement.id.axes.set(name, *value);
  }
  measurement.rates = {{"best_seconds", best.median_seconds}};
  if (next > 0) measurement.rates.emplace_back("ahead", next / best.median_seconds);
  return measurement;
}

}  // namespace

std::vector<Measurement> fastest_policies(const std::vector<Finished>& finished) {
  std::vector<Measurement> all;
  for (const Scenario& scenario : scenarios_of(finished)) {
    if (scenario.cases.size() > 1) all.push_back(best_of(scenario));
  }
  return all;
}

}  // namespace duet
