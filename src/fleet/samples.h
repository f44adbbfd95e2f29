// The figures of a fleet as the judgement takes them (judge.h): numbers of places, without records
// and files.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace duet {

// What figures are of: a device or NIC of a node, or with the name "" the node as a whole.
struct FleetUnit {
  int node = 0;
  std::string name;  // "cuda:3", "mlx5_0"
};

// The units that one measurement used: one; the source and destination of a copy or message; or all
// nodes of a collective, in order of their numbers.
struct FleetPlace {
  std::vector<int> units;  // numbers of units, at least one
  int link = 0;            // the same for both directions between two units
  int position = 0;        // the same for places of equal names on all nodes: "cuda:0 > cuda:1"
};

// Cases that may be compared: the same work on the same model of device, wherever it ran.
struct FleetFigure {
  std::string kind;  // figures that one cause slows alike: "gemm", "copy host_to_device"
  std::string text;  // for the user: "gemm, cublaslt, 8192 x 8192 x 8192 bf16 bf16 nn"
  std::string rate;  // of the values: "tflops"; "": 1 / seconds
};

struct FleetSample {
  int figure = 0;
  int place = 0;
  double value = 0;      // logarithm of the rate
  double usual = 0;      // standard deviation between runs that such a device usually has
  double deviation = 0;  // standard deviation of `value` within the run
};

// All samples of a fleet, at most one for each figure and place. Numbers of nodes, units, places
// and figures count from 0 in the order in which they first appeared.
class FleetSamples {
 public:
  int node(const std::string& name);
  int unit(int node, const std::string& name);
  // Of units in the order of the measurement.
  int place(const std::vector<int>& units);
  // `key` is equal for figures that may be compared.
  int figure(const std::string& key, const FleetFigure& figure);
  void add(const FleetSample& sample) { samples_.push_back(sample); }

  const std::vector<std::string>& nodes() const { return nodes_; }
  const std::vector<FleetUnit>& units() const { return units_; }
  const std::vector<FleetPlace>& places() const { return places_; }
  const std::vector<FleetFigure>& figures() const { return figures_; }
  const std::vector<FleetSample>& samples() const { return samples_; }
  // The units of each link, sorted.
  const std::vector<std::vector<int>>& links() const { return links_; }
  // -1 if there is no such node.
  int find_node(const std::string& name) const;

  // "node7", "node7 cuda:3".
  std::string unit_text(int unit) const;

 private:
  std::vector<std::string> nodes_;
  std::vector<FleetUnit> units_;
  std::vector<FleetPlace> places_;
  std::vector<FleetFigure> figures_;
  std::vector<FleetSample> samples_;
  std::vector<std::vector<int>> links_;
  std::map<std::string, int> node_numbers_, position_numbers_, figure_numbers_;
  std::map<std::pair<int, std::string>, int> unit_numbers_;
  std::map<std::vector<int>, int> place_numbers_, link_numbers_;
};

// A switch or a rack: nodes that a fault slows together.
struct FleetGroup {
  std::string name;
  std::vector<int> nodes;
};

}  // namespace duet
