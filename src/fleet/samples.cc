#include "fleet/samples.h"

#include <algorithm>

namespace duet {
namespace {

// The number of a key, which is the next one where the key is new.
template <typename Key>
int number_of(std::map<Key, int>& numbers, const Key& key) {
  return numbers.emplace(key, static_cast<int>(numbers.size())).first->second;
}

}  // namespace

int FleetSamples::node(const std::string& name) {
  const int number = number_of(node_numbers_, name);
  if (number == static_cast<int>(nodes_.size())) nodes_.push_back(name);
  return number;
}

int FleetSamples::find_node(const std::string& name) const {
  const auto found = node_numbers_.find(name);
  return found == node_numbers_.end() ? -1 : found->second;
}

int FleetSamples::unit(int node, const std::string& name) {
  const int number = number_of(unit_numbers_, {node, name});
  if (number == static_cast<int>(units_.size())) units_.push_back({node, name});
  return number;
}

int FleetSamples::place(const std::vector<int>& units) {
  const int number = number_of(place_numbers_, units);
  if (number < static_cast<int>(places_.size())) return number;
  FleetPlace place;
  place.units = units;
  std::vector<int> sorted = units;
  std::sort(sorted.begin(), sorted.end());
  place.link = number_of(link_numbers_, sorted);
  if (place.link == static_cast<int>(links_.size())) links_.push_back(std::move(sorted));
  std::string position;
  for (const int unit : units) {
    const FleetUnit& one = units_[static_cast<std::size_t>(unit)];
    position +=
        (one.node == units_[static_cast<std::size_t>(units[0])].node ? ">" : "|") + one.name;
  }
  place.position = number_of(position_numbers_, position);
  places_.push_back(std::move(place));
  return number;
}

int FleetSamples::figure(const std::string& key, const FleetFigure& figure) {
  const int number = number_of(figure_numbers_, key);
  if (number == static_cast<int>(figures_.size())) figures_.push_back(figure);
  return number;
}

std::string FleetSamples::unit_text(int unit) const {
  const FleetUnit& one = units_[static_cast<std::size_t>(unit)];
  const std::string& node = nodes_[static_cast<std::size_t>(one.node)];
  return one.name.empty() ? node : node + " " + one.name;
}

}  // namespace duet
