#include "fleet/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace duet {
namespace {

std::size_t place_of(int number) { return static_cast<std::size_t>(number); }

// Units of a suspect that is a link or direction.
const std::vector<int>& ends_of(const FleetSuspect& suspect, const FleetSamples& samples) {
  return suspect.level == FleetLevel::link ? samples.links()[place_of(suspect.item)]
                                           : samples.places()[place_of(suspect.item)].units;
}

std::string ends_text(const FleetSuspect& suspect, const FleetSamples& samples) {
  const char* between = suspect.level == FleetLevel::link ? " - " : " > ";
  std::string text;
  int node = -1;
  for (const int unit : ends_of(suspect, samples)) {
    const FleetUnit& one = samples.units()[place_of(unit)];
    const bool same = one.node == node;
    text += text.empty() ? "" : between;
    text += same ? one.name : samples.unit_text(unit);
    node = one.node;
  }
  return text;
}

// "cuda:0,3" of cuda:0 and cuda:3; names of several machines with a comma between.
std::string devices_text(const std::vector<std::string>& names) {
  std::string text, prefix;
  for (const std::string& name : names) {
    const std::string own = name.substr(0, name.rfind(':') + 1);
    if (!own.empty() && own == prefix) {
      text += "," + name.substr(own.size());
    } else {
      text += (text.empty() ? "" : ",") + name;
    }
    prefix = own;
  }
  return text;
}

std::string on_nodes(const std::string& first, const std::string& second) {
  return fmt::format("srun -N 2 -w {},{} duet fabric write", first, second);
}

// A node that is no suspect's, to measure with.
std::string sound_node(const FleetReport& report, const std::vector<int>& but) {
  std::set<int> suspected(but.begin(), but.end());
  for (const FleetSuspect& one : report.judgement.suspects) {
    for (const int node : nodes_of(one, report.input.samples, report.groups)) {
      suspected.insert(node);
    }
  }
  const auto& nodes = report.input.samples.nodes();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (suspected.count(static_cast<int>(i)) == 0) return nodes[i];
  }
  return "NODE";
}

// Whether the figures of its slowest case are of several nodes each.
bool between_nodes(const FleetSuspect& suspect, const FleetSamples& samples) {
  const int figure = suspect.evidence.front().slowest;
  for (const FleetSample& one : samples.samples()) {
    if (one.figure != figure) continue;
    const std::vector<int>& units = samples.places()[place_of(one.place)].units;
    const int first = samples.units()[place_of(units.front())].node;
    return samples.units()[place_of(units.back())].node != first;
  }
  return false;
}

// Whether all nodes of a suspect have values that go with slow nodes.
bool goes_with_setting(const FleetSuspect& suspect, const FleetReport& report) {
  const std::vector<int> nodes = nodes_of(suspect, report.input.samples, report.groups);
  const auto has = [&](int node, const SettingDifference& one) {
    const Settings& settings = report.input.nodes[place_of(node)].settings;
    const auto found = settings.find(one.values.front().first);
    return found != settings.end() && found->second == one.values.front().second;
  };
  return std::any_of(report.differences.begin(), report.differences.end(), [&](const auto& one) {
    return std::all_of(nodes.begin(), nodes.end(), [&](int node) { return has(node, one); });
  });
}

}  // namespace

FleetReport fleet_report(FleetInput input,
                         const std::map<std::string, std::vector<std::string>>& groups,
                         const std::vector<std::string>& expected) {
  FleetReport report;
  report.input = std::move(input);
  const FleetSamples& samples = report.input.samples;
  for (const auto& [name, nodes] : groups) {
    FleetGroup group{name, {}};
    for (const std::string& each : nodes) {
      const int node = samples.find_node(each);
      if (node >= 0) group.nodes.push_back(node);
    }
    if (!group.nodes.empty()) report.groups.push_back(std::move(group));
  }
  std::set<std::string> asked;
  for (const std::string& each : expected) {
    if (asked.insert(each).second && samples.find_node(each) < 0) report.missing.push_back(each);
  }
  report.judgement = judge_fleet(samples, report.groups);
  std::vector<Settings> settings;
  for (const FleetNode& node : report.input.nodes) settings.push_back(node.settings);
  std::vector<bool> slow(settings.size(), false);
  for (const FleetSuspect& one : report.judgement.suspects) {
    for (const int node : nodes_of(one, samples, report.groups)) slow[place_of(node)] = true;
  }
  report.differences = differences_of_slow(settings, slow);
  // First what no setting explains.
  auto& suspects = report.judgement.suspects;
  std::stable_partition(suspects.begin(), suspects.end(),
                        [&](const FleetSuspect& one) { return !goes_with_setting(one, report); });
  return report;
}

int judged_figures(const FleetReport& report) {
  const auto& figures = report.judgement.figures;
  return static_cast<int>(std::count_if(figures.begin(), figures.end(),
                                        [](const FigurePeers& one) { return one.judged; }));
}

bool has_fault(const FleetNode& node) {
  return !node.failed.empty() || !node.incomplete.empty() || node.lacking > 0;
}

int findings(const FleetReport& report) {
  const auto& nodes = report.input.nodes;
  const auto faults = std::count_if(nodes.begin(), nodes.end(), has_fault);
  return static_cast<int>(faults) + static_cast<int>(report.judgement.suspects.size()) +
         static_cast<int>(report.missing.size()) + static_cast<int>(report.input.broken.size());
}

std::string place_text(const FleetSuspect& suspect, const FleetReport& report) {
  const FleetSamples& samples = report.input.samples;
  switch (suspect.level) {
    case FleetLevel::group:
      return "group " + report.groups[place_of(suspect.item)].name;
    case FleetLevel::node:
      return samples.nodes()[place_of(suspect.item)];
    case FleetLevel::unit:
      return samples.unit_text(suspect.item);
    case FleetLevel::unit_out:
      return samples.unit_text(suspect.item) + " as source";
    case FleetLevel::unit_in:
      return samples.unit_text(suspect.item) + " as destination";
    case FleetLevel::link:
    case FleetLevel::direction:
      break;
  }
  return ends_text(suspect, samples);
}

std::string next_command(const FleetSuspect& suspect, const FleetReport& report) {
  const FleetSamples& samples = report.input.samples;
  const std::vector<int> nodes = nodes_of(suspect, samples, report.groups);
  const auto node_at = [&](std::size_t i) { return samples.nodes()[place_of(nodes[i])]; };
  const bool between = between_nodes(suspect, samples);
  switch (suspect.level) {
    case FleetLevel::group:
      return on_nodes(node_at(0), node_at(1));
    case FleetLevel::node:
      if (between) return on_nodes(node_at(0), sound_node(report, nodes));
      return "duet health --verbose";
    case FleetLevel::unit:
    case FleetLevel::unit_out:
    case FleetLevel::unit_in: {
      const std::string& unit = samples.units()[place_of(suspect.item)].name;
      if (between) {
        return on_nodes(node_at(0), sound_node(report, nodes)) +
               (unit.empty() ? "" : " --rails " + unit);
      }
      return fmt::format("duet health --device {} --verbose", unit);
    }
    case FleetLevel::link:
    case FleetLevel::direction:
      break;
  }
  if (nodes.size() > 1) return on_nodes(node_at(0), node_at(1));
  std::vector<std::string> devices;
  for (const int unit : ends_of(suspect, samples)) {
    devices.push_back(samples.units()[place_of(unit)].name);
  }
  std::sort(devices.begin(), devices.end());
  return fmt::format("duet copy --device {} --kind peer", devices_text(devices));
}

}  // namespace duet
