// Curves by everything but the size, and two engines' held against each other; see crossover.h.
#include "collectives/crossover.h"

#include <algorithm>
#include <string>
#include <utility>

#include "copy/fit.h"

namespace duet {
namespace {

struct Point {
  double bytes = 0;
  double seconds = 0;
  double bus_bytes = 0;
};

struct Curve {
  CaseId id;  // without the size
  std::vector<Point> points;
};

// Sets `bytes` and returns the case without it.
CaseId without_bytes(CaseId id, double& bytes) {
  const auto is_size = [](const auto& axis) { return axis.first == "bytes"; };
  const auto found = std::find_if(id.axes.begin(), id.axes.end(), is_size);
  if (found == id.axes.end()) return id;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  bytes = value == nullptr ? 0 : static_cast<double>(*value);
  id.axes.erase(found);
  return id;
}

bool same_call(const CaseId& a, const CaseId& b) {
  return a.device == b.device && a.axes == b.axes;
}

// In the order in which they were measured, each by rising size.
std::vector<Curve> curves_of(const std::vector<Finished>& finished) {
  std::vector<Curve> curves;
  for (const Finished& one : finished) {
    if (one.id.benchmark != "collective" || one.median_seconds <= 0) continue;
    Point point{0, one.median_seconds, one.cost.bus_bytes};
    const CaseId id = without_bytes(one.id, point.bytes);
    const auto same = [&](const Curve& c) {
      return c.id.engine == id.engine && same_call(c.id, id);
    };
    auto found = std::find_if(curves.begin(), curves.end(), same);
    if (found == curves.end()) found = curves.insert(curves.end(), {id, {}});
    found->points.push_back(point);
  }
  for (Curve& curve : curves) {
    std::sort(curve.points.begin(), curve.points.end(),
              [](const Point& a, const Point& b) { return a.bytes < b.bytes; });
  }
  return curves;
}

// The times of two engines at the sizes that both have.
struct Pair {
  double bytes = 0, first = 0, second = 0;
};
std::vector<Pair> common(const Curve& first, const Curve& second) {
  std::vector<Pair> pairs;
  for (const Point& a : first.points) {
    for (const Point& b : second.points) {
      if (a.bytes == b.bytes) pairs.push_back({a.bytes, a.seconds, b.seconds});
    }
  }
  return pairs;
}

// `pairs` have the winner's times first.
Measurement crossover(const CaseId& winner, const std::string& against,
                      const std::vector<Pair>& pairs) {
  std::size_t from = pairs.size() - 1;
  while (from > 0 && pairs[from - 1].first <= pairs[from - 1].second) --from;
  Measurement result;
  result.id = winner;
  result.id.benchmark = "collective_crossover";
  result.id.axes.emplace_back("against", against);
  result.rates = {{"crossover_bytes", pairs[from].bytes},
                  {"smallest_bytes", pairs.front().bytes},
                  {"largest_bytes", pairs.back().bytes},
                  {"times_as_fast", pairs.back().second / pairs.back().first}};
  return result;
}

void add_crossovers(const std::vector<Curve>& curves, std::vector<Measurement>& results) {
  for (std::size_t i = 0; i < curves.size(); ++i) {
    for (std::size_t j = i + 1; j < curves.size(); ++j) {
      if (!same_call(curves[i].id, curves[j].id)) continue;
      std::vector<Pair> pairs = common(curves[i], curves[j]);
      if (pairs.empty()) continue;
      const bool first = pairs.back().first <= pairs.back().second;
      if (!first) {
        for (Pair& each : pairs) std::swap(each.first, each.second);
      }
      const Curve& winner = curves[first ? i : j];
      results.push_back(crossover(winner.id, curves[first ? j : i].id.engine, pairs));
    }
  }
}

void add_fit(const Curve& curve, std::vector<Measurement>& results) {
  std::vector<CopyPoint> points;
  for (const Point& each : curve.points) {
    if (each.bus_bytes > 0) points.push_back({each.bus_bytes, each.seconds});
  }
  const auto fit = fit_copy(points);
  if (!fit) return;
  // The fit is of bus bytes; sizes are said in those of the cases.
  const double size = curve.points.back().bytes / curve.points.back().bus_bytes;
  Measurement result;
  result.id = curve.id;
  result.id.benchmark = "collective_curve";
  result.rates = {{"latency_us", fit->latency_seconds * 1e6},
                  {"asymptotic_gb_per_s", fit->bytes_per_second / 1e9},
                  {"n_half_bytes", size * fit->half_bytes}};
  results.push_back(std::move(result));
}

}  // namespace

std::vector<Measurement> conclude_collectives(const std::vector<Finished>& finished) {
  const std::vector<Curve> curves = curves_of(finished);
  std::vector<Measurement> results;
  add_crossovers(curves, results);
  for (const Curve& curve : curves) add_fit(curve, results);
  return results;
}

}  // namespace duet
