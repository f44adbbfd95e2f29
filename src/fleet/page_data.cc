#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "fleet/report.h"

namespace duet {
namespace {

constexpr std::size_t kMostRows = 60;      // of the heat map
constexpr std::size_t kMostMatrices = 12;  // of pairs
constexpr std::size_t kMostUnits = 64;     // of a matrix's side
constexpr std::size_t kMostNamed = 30;     // places of a distribution
constexpr double kMostBins = 120;

std::size_t number_at(int number) { return static_cast<std::size_t>(number); }

// A residual as a change of the rate in thousandths.
int thousandths(double residual) {
  return static_cast<int>(std::lround(1000 * std::expm1(residual)));
}

std::string unit_pair_text(const FleetPlace& place, const FleetSamples& samples) {
  std::string text;
  for (const int unit : place.units) {
    text += (text.empty() ? "" : " > ") + samples.unit_text(unit);
  }
  return text;
}

// The slowest place of each node in each figure.
std::map<std::pair<int, int>, double> changes_of_nodes(const FleetReport& report) {
  const FleetSamples& samples = report.input.samples;
  std::map<std::pair<int, int>, double> slowest;
  for (std::size_t i = 0; i < samples.samples().size(); ++i) {
    const FleetSample& one = samples.samples()[i];
    const double change = report.judgement.residuals[i];
    for (const int unit : samples.places()[number_at(one.place)].units) {
      const int node = samples.units()[number_at(unit)].node;
      const auto [known, fresh] = slowest.emplace(std::pair(node, one.figure), change);
      known->second = std::min(known->second, change);
    }
  }
  return slowest;
}

// Suspects' nodes, then those with the slowest figure.
std::vector<int> most_unlike(const FleetReport& report,
                             const std::map<std::pair<int, int>, double>& changes) {
  std::vector<int> order;
  std::set<int> seen;
  for (const FleetSuspect& one : report.judgement.suspects) {
    for (const int node : nodes_of(one, report.input.samples, report.groups)) {
      if (seen.insert(node).second) order.push_back(node);
    }
  }
  std::map<int, double> slowest;
  for (const auto& [of, change] : changes) {
    if (seen.count(of.first) > 0) continue;
    const auto [known, fresh] = slowest.emplace(of.first, change);
    known->second = std::min(known->second, change);
  }
  std::vector<std::pair<double, int>> rest;
  for (const auto& [node, change] : slowest) rest.emplace_back(change, node);
  std::sort(rest.begin(), rest.end());
  for (const auto& [change, node] : rest) order.push_back(node);
  if (order.size() > kMostRows) order.resize(kMostRows);
  return order;
}

Json heat_json(const FleetReport& report) {
  const auto changes = changes_of_nodes(report);
  Json rows = Json::array();
  for (const int node : most_unlike(report, changes)) {
    Json row = Json::array();
    for (std::size_t figure = 0; figure < report.input.samples.figures().size(); ++figure) {
      const auto found = changes.find({node, static_cast<int>(figure)});
      row.push_back(found == changes.end() ? Json() : Json(thousandths(found->second)));
    }
    rows.push_back({{"node", report.input.samples.nodes()[number_at(node)]}, {"changes", row}});
  }
  return rows;
}

// The residuals of a figure in bins as wide as its usual deviation, and the slowest places.
Json distribution_json(const FleetReport& report, const std::vector<std::size_t>& members,
                       double spread) {
  const FleetSamples& samples = report.input.samples;
  const auto residual = [&](std::size_t i) { return report.judgement.residuals[i]; };
  double low = 0, high = 0;
  for (const std::size_t i : members) {
    low = std::min(low, residual(i));
    high = std::max(high, residual(i));
  }
  const double step = std::max({spread / 2, 1e-4, (high - low) / kMostBins});
  const double from = std::floor(low / step) * step;
  std::vector<int> counts(static_cast<std::size_t>((high - from) / step) + 1);
  std::vector<std::pair<double, std::size_t>> slow;
  for (const std::size_t i : members) {
    ++counts[static_cast<std::size_t>((residual(i) - from) / step)];
    if (residual(i) < -std::max(4 * spread, kLeastLoss)) slow.emplace_back(residual(i), i);
  }
  std::sort(slow.begin(), slow.end());
  Json outliers = Json::array();
  for (std::size_t i = 0; i < std::min(kMostNamed, slow.size()); ++i) {
    const FleetSample& one = samples.samples()[slow[i].second];
    outliers.push_back({{"place", unit_pair_text(samples.places()[number_at(one.place)], samples)},
                        {"change", thousandths(slow[i].first)}});
  }
  return {{"from", from},
          {"step", step},
          {"counts", counts},
          {"outliers", outliers},
          {"slow", slow.size()}};
}

Json distributions_json(const FleetReport& report) {
  const FleetSamples& samples = report.input.samples;
  std::vector<std::vector<std::size_t>> by_figure(samples.figures().size());
  for (std::size_t i = 0; i < samples.samples().size(); ++i) {
    by_figure[number_at(samples.samples()[i].figure)].push_back(i);
  }
  Json all = Json::array();
  for (std::size_t figure = 0; figure < by_figure.size(); ++figure) {
    const FigurePeers& peers = report.judgement.figures[figure];
    all.push_back(peers.judged ? distribution_json(report, by_figure[figure], peers.spread)
                               : Json());
  }
  return all;
}

// The changes of all pairs of units that a figure has, on a node or, with node -1, between nodes.
Json matrix_json(const FleetReport& report, int figure, int node) {
  const FleetSamples& samples = report.input.samples;
  std::map<int, std::size_t> sides;
  std::vector<std::pair<const FleetPlace*, double>> cells;
  for (std::size_t i = 0; i < samples.samples().size(); ++i) {
    const FleetSample& one = samples.samples()[i];
    const FleetPlace& place = samples.places()[number_at(one.place)];
    if (one.figure != figure || place.units.size() != 2) continue;
    if (node >= 0 && samples.units()[number_at(place.units[0])].node != node) continue;
    for (const int unit : place.units) sides.emplace(unit, 0);
    cells.emplace_back(&place, report.judgement.residuals[i]);
  }
  if (sides.size() < 3 || sides.size() > kMostUnits) return {};
  Json names = Json::array();
  for (auto& [unit, place] : sides) {
    place = names.size();
    const FleetUnit& one = samples.units()[number_at(unit)];
    names.push_back(node >= 0 ? one.name : samples.unit_text(unit));
  }
  Json matrix = {{"names", names}, {"cells", Json::array()}};
  matrix["case"] = samples.figures()[number_at(figure)].text;
  matrix["node"] = node >= 0 ? samples.nodes()[number_at(node)] : "";
  for (const auto& [place, residual] : cells) {
    matrix["cells"].push_back(
        {sides[place->units[0]], sides[place->units[1]], thousandths(residual)});
  }
  return matrix;
}

// Of the suspects whose slowest figure is of pairs, each matrix once.
Json matrices_json(const FleetReport& report) {
  const FleetSamples& samples = report.input.samples;
  Json matrices = Json::array();
  std::set<std::pair<int, int>> made;
  for (const FleetSuspect& one : report.judgement.suspects) {
    const int figure = one.evidence.front().slowest;
    const std::vector<int> nodes = nodes_of(one, samples, report.groups);
    const bool within = std::all_of(
        samples.samples().begin(), samples.samples().end(), [&](const FleetSample& sample) {
          if (sample.figure != figure) return true;
          const std::vector<int>& units = samples.places()[number_at(sample.place)].units;
          return samples.units()[number_at(units.front())].node ==
                 samples.units()[number_at(units.back())].node;
        });
    const int node = within && nodes.size() == 1 ? nodes.front() : -1;
    if ((within && node < 0) || !made.insert({figure, node}).second) continue;
    Json matrix = matrix_json(report, figure, node);
    if (!matrix.is_null()) matrices.push_back(std::move(matrix));
    if (matrices.size() >= kMostMatrices) break;
  }
  return matrices;
}

}  // namespace

Json fleet_page_data(const FleetReport& report) {
  Json json = fleet_json(report);
  json["line"] = fleet_line(report);
  json["heat"] = heat_json(report);
  json["distributions"] = distributions_json(report);
  json["matrices"] = matrices_json(report);
  return json;
}

}  // namespace duet
