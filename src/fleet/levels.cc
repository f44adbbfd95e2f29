#include "fleet/levels.h"

#include <algorithm>
#include <map>

namespace duet {
namespace {

std::size_t index(int number) { return static_cast<std::size_t>(number); }

// The value that three quarters of the parts do not exceed; of two parts the larger one.
double upper_quarter(std::vector<double>& values) {
  const std::size_t place = (3 * values.size() + 3) / 4 - 1;
  const auto wanted = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), wanted, values.end());
  return *wanted;
}

// A value for each item that has at least `fewest` parts.
std::vector<LevelValue> gathered(std::vector<LevelValue> parts, std::size_t fewest) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const LevelValue& a, const LevelValue& b) { return a.item < b.item; });
  std::vector<LevelValue> values;
  std::vector<double> of_item;
  for (std::size_t begin = 0, end = 0; begin < parts.size(); begin = end) {
    of_item.clear();
    for (end = begin; end < parts.size() && parts[end].item == parts[begin].item; ++end) {
      of_item.push_back(parts[end].value);
    }
    if (of_item.size() < fewest) continue;
    const double deviation = of_item.size() == 1 ? parts[begin].deviation : 0;
    const std::size_t count = of_item.size();
    values.push_back({parts[begin].item, upper_quarter(of_item), deviation, count});
  }
  return values;
}

void append(std::vector<LevelValue>& values, const std::vector<LevelValue>& more) {
  values.insert(values.end(), more.begin(), more.end());
}

}  // namespace

struct FleetLevels::OneFigure {
  const std::vector<std::size_t>& members;
  const std::vector<double>& residuals;
};

FleetLevels::FleetLevels(const FleetSamples& samples, const std::vector<FleetGroup>& groups)
    : samples_(samples), group_of_(samples.nodes().size(), -1) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const int node : groups[i].nodes) group_of_[index(node)] = static_cast<int>(i);
  }
}

const FleetUnit& FleetLevels::unit(int number) const { return samples_.units()[index(number)]; }

std::vector<LevelValue> FleetLevels::links(const OneFigure& figure) const {
  std::vector<LevelValue> parts;
  for (const std::size_t i : figure.members) {
    const FleetSample& one = samples_.samples()[i];
    const FleetPlace& place = samples_.places()[index(one.place)];
    if (place.units.size() < 2) continue;
    parts.push_back({place.link, figure.residuals[i], one.deviation});
  }
  return gathered(std::move(parts), 1);
}

// Of links that were measured in both directions.
std::vector<LevelValue> FleetLevels::directions(const OneFigure& figure) const {
  std::map<int, int> ways;
  for (const std::size_t i : figure.members) {
    ++ways[samples_.places()[index(samples_.samples()[i].place)].link];
  }
  std::vector<LevelValue> values;
  for (const std::size_t i : figure.members) {
    const FleetSample& one = samples_.samples()[i];
    const FleetPlace& place = samples_.places()[index(one.place)];
    if (place.units.size() != 2 || ways[place.link] < 2) continue;
    values.push_back({one.place, figure.residuals[i], one.deviation});
  }
  return gathered(std::move(values), 1);
}

// Of devices and NICs: what was measured on them alone, or their links to two peers or more.
std::vector<LevelValue> FleetLevels::units(const OneFigure& figure) const {
  std::vector<LevelValue> alone, by_link;
  for (const std::size_t i : figure.members) {
    const FleetSample& one = samples_.samples()[i];
    const FleetPlace& place = samples_.places()[index(one.place)];
    if (place.units.size() > 1 || is_whole_node(place.units[0])) continue;
    alone.push_back({place.units[0], figure.residuals[i], one.deviation});
  }
  for (const LevelValue& link : links(figure)) {
    for (const int each : samples_.links()[index(link.item)]) {
      if (!is_whole_node(each)) by_link.push_back({each, link.value});
    }
  }
  std::vector<LevelValue> values = gathered(std::move(alone), 1);
  append(values, gathered(std::move(by_link), 2));
  return values;
}

// Of units with two peers or more in either direction.
std::vector<LevelValue> FleetLevels::one_way(const OneFigure& figure, bool out) const {
  std::vector<LevelValue> leaving, coming;
  for (const std::size_t i : figure.members) {
    const FleetPlace& place = samples_.places()[index(samples_.samples()[i].place)];
    if (place.units.size() != 2) continue;
    leaving.push_back({place.units[0], figure.residuals[i]});
    coming.push_back({place.units[1], figure.residuals[i]});
  }
  const auto wanted = gathered(out ? leaving : coming, 2);
  const auto other = gathered(out ? coming : leaving, 2);
  std::vector<LevelValue> both;
  std::set_intersection(wanted.begin(), wanted.end(), other.begin(), other.end(),
                        std::back_inserter(both),
                        [](const LevelValue& a, const LevelValue& b) { return a.item < b.item; });
  return both;
}

std::vector<LevelValue> FleetLevels::nodes(const OneFigure& figure,
                                           std::size_t fewest_units) const {
  std::vector<LevelValue> by_unit, alone, by_link;
  for (const LevelValue& one : units(figure)) {
    by_unit.push_back({unit(one.item).node, one.value, one.deviation});
  }
  for (const std::size_t i : figure.members) {
    const FleetSample& one = samples_.samples()[i];
    const FleetPlace& place = samples_.places()[index(one.place)];
    if (place.units.size() > 1 || !is_whole_node(place.units[0])) continue;
    alone.push_back({unit(place.units[0]).node, figure.residuals[i], one.deviation});
  }
  for (const LevelValue& link : links(figure)) {
    for (const int each : samples_.links()[index(link.item)]) {
      if (is_whole_node(each)) by_link.push_back({unit(each).node, link.value});
    }
  }
  std::vector<LevelValue> values = gathered(std::move(by_unit), fewest_units);
  append(values, gathered(std::move(alone), 1));
  append(values, gathered(std::move(by_link), 2));
  return gathered(std::move(values), 1);
}

std::vector<LevelValue> FleetLevels::in_groups(const OneFigure& figure) const {
  std::vector<LevelValue> parts;
  for (const LevelValue& node : nodes(figure, 1)) {
    const int group = group_of_[index(node.item)];
    if (group >= 0) parts.push_back({group, node.value});
  }
  return gathered(std::move(parts), 2);
}

std::vector<LevelValue> FleetLevels::values(FleetLevel level,
                                            const std::vector<std::size_t>& members,
                                            const std::vector<double>& residuals) const {
  const OneFigure figure{members, residuals};
  switch (level) {
    case FleetLevel::group:
      return in_groups(figure);
    case FleetLevel::node:
      return nodes(figure, 2);
    case FleetLevel::unit:
      return units(figure);
    case FleetLevel::unit_out:
      return one_way(figure, true);
    case FleetLevel::unit_in:
      return one_way(figure, false);
    case FleetLevel::link:
      return links(figure);
    case FleetLevel::direction:
      break;
  }
  return directions(figure);
}

std::vector<LevelValue> FleetLevels::values_of_nodes(const std::vector<std::size_t>& members,
                                                     const std::vector<double>& residuals) const {
  return nodes({members, residuals}, 1);
}

std::vector<int> FleetLevels::items(FleetLevel level, int place) const {
  const FleetPlace& one = samples_.places()[index(place)];
  switch (level) {
    case FleetLevel::unit:
      return one.units;
    case FleetLevel::unit_out:
      return {one.units.front()};
    case FleetLevel::unit_in:
      return {one.units.back()};
    case FleetLevel::link:
      return {one.link};
    case FleetLevel::direction:
      return {place};
    case FleetLevel::group:
    case FleetLevel::node:
      break;
  }
  std::vector<int> found;
  for (const int each : one.units) {
    const int node = unit(each).node;
    const int item = level == FleetLevel::node ? node : group_of_[index(node)];
    if (item >= 0) found.push_back(item);
  }
  return found;
}

}  // namespace duet
