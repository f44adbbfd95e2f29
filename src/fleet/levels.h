// The values of places at each level, from the residuals of one figure's samples.
#pragma once

#include <cstddef>
#include <vector>

#include "fleet/judge.h"
#include "fleet/samples.h"

namespace duet {

struct LevelValue {
  int item = 0;
  double value = 0;
  double deviation = 0;   // within the run; 0 where the value is of several samples
  std::size_t parts = 1;  // of which it was made
};

class FleetLevels {
 public:
  FleetLevels(const FleetSamples& samples, const std::vector<FleetGroup>& groups);

  // `members` are the places of one figure's samples among all; `residuals` are of all samples.
  // At most one value for each place, sorted by its number.
  std::vector<LevelValue> values(FleetLevel level, const std::vector<std::size_t>& members,
                                 const std::vector<double>& residuals) const;
  // As the level node, but a node of which one device alone was measured has a value too.
  std::vector<LevelValue> values_of_nodes(const std::vector<std::size_t>& members,
                                          const std::vector<double>& residuals) const;
  // The items of a level that a place (by its number) is in.
  std::vector<int> items(FleetLevel level, int place) const;

 private:
  struct OneFigure;
  std::vector<LevelValue> links(const OneFigure& figure) const;
  std::vector<LevelValue> directions(const OneFigure& figure) const;
  std::vector<LevelValue> units(const OneFigure& figure) const;
  std::vector<LevelValue> one_way(const OneFigure& figure, bool out) const;
  std::vector<LevelValue> nodes(const OneFigure& figure, std::size_t fewest_units) const;
  std::vector<LevelValue> in_groups(const OneFigure& figure) const;
  const FleetUnit& unit(int number) const;
  bool is_whole_node(int unit_number) const { return unit(unit_number).name.empty(); }

  const FleetSamples& samples_;
  std::vector<int> group_of_;  // by node; -1: none
};

}  // namespace duet
