#include "collectives/crossover.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "collectives/cost.h"
#include "timing/fit.h"

namespace duet {
namespace {

constexpr double kLeastLead = 1.01;

struct Point {
  double bytes = 0;
  double seconds = 0, low = 0, high = 0;  // the median and its interval
  double bus_bytes = 0;
};

struct Curve {
  CaseId id;  // without the axis `bytes`
  std::vector<Point> points;
};

// Returns the id without the axis `bytes`, and stores the value of that axis in `bytes`.
CaseId without_bytes(CaseId id, double& bytes) {
  bytes = static_cast<double>(id.axes.number("bytes").value_or(0));
  id.axes = id.axes.without({"bytes"});
  return id;
}

// Engines that put in packets compete with each size of those.
bool same_call(const CaseId& a, const CaseId& b) {
  return a.device == b.device && a.axes.without({"packet"}) == b.axes.without({"packet"});
}

// All curves in the order in which they were measured. The points of a curve are sorted by rising
// size.
std::vector<Curve> curves_of(const std::vector<Finished>& finished) {
  std::vector<Curve> curves;
  for (const Finished& one : finished) {
    if (one.id.benchmark != "collective" || one.median_seconds <= 0) continue;
    const bool known = one.high_seconds > 0;
    Point point{0, one.median_seconds, known ? one.low_seconds : one.median_seconds,
                known ? one.high_seconds : one.median_seconds, one.cost.more.value(kBusBytes)};
    const CaseId id = without_bytes(one.id, point.bytes);
    const auto same = [&](const Curve& c) {
      return c.id.device == id.device && c.id.engine == id.engine && c.id.axes == id.axes;
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

// The result of one engine at one size.
struct EngineResult {
  const Curve* curve = nullptr;
  Point point;
};

bool ahead(const Point& first, const Point& second) {
  return first.high < second.low && second.seconds >= kLeastLead * first.seconds;
}

// For each size at which several engines were measured: their results, the fastest first.
std::map<double, std::vector<EngineResult>> ranking(const std::vector<const Curve*>& call) {
  std::map<double, std::vector<EngineResult>> sizes;
  for (const Curve* curve : call) {
    for (const Point& point : curve->points) sizes[point.bytes].push_back({curve, point});
  }
  for (auto size = sizes.begin(); size != sizes.end();) {
    std::sort(size->second.begin(), size->second.end(),
              [](const EngineResult& a, const EngineResult& b) {
                return a.point.seconds < b.point.seconds;
              });
    size = size->second.size() < 2 ? sizes.erase(size) : std::next(size);
  }
  return sizes;
}

// A range of sizes over which one engine is the fastest.
struct Lead {
  const Curve* leader = nullptr;
  double first = 0, last = 0;
  const Curve* other = nullptr;  // the fastest other at the last size
  double times = 0;
};

// For a size at which no engine is ahead of all others: whether the fastest one is not ahead of the
// leader either.
bool keeps_up(const Lead& lead, const std::vector<EngineResult>& entries) {
  const auto own = std::find_if(entries.begin(), entries.end(),
                                [&](const EngineResult& one) { return one.curve == lead.leader; });
  return own != entries.end() && !ahead(entries[0].point, own->point);
}

std::vector<Lead> leads_of(const std::map<double, std::vector<EngineResult>>& sizes) {
  std::vector<Lead> leads;
  bool going_on = false;
  for (const auto& [bytes, entries] : sizes) {
    const EngineResult &best = entries[0], &second = entries[1];
    if (!ahead(best.point, second.point)) {
      going_on = going_on && keeps_up(leads.back(), entries);
      continue;
    }
    if (!going_on || leads.back().leader != best.curve) leads.push_back({best.curve, bytes});
    going_on = true;
    leads.back().last = bytes;
    leads.back().other = second.curve;
    leads.back().times = second.point.seconds / best.point.seconds;
  }
  return leads;
}

bool has_engine(const std::vector<const Curve*>& call, const char* engine) {
  return std::any_of(call.begin(), call.end(),
                     [&](const Curve* one) { return one->id.engine == engine; });
}

std::vector<const Curve*> competitors(const std::vector<Curve>& curves, const Curve& first) {
  std::vector<const Curve*> call;
  for (const Curve& curve : curves) {
    if (same_call(curve.id, first.id)) call.push_back(&curve);
  }
  if (has_engine(call, "dma") || has_engine(call, "kernel")) {
    call.erase(std::remove_if(call.begin(), call.end(),
                              [](const Curve* one) { return one->id.engine == "auto"; }),
               call.end());
  }
  return call;
}

void add_crossovers(const std::vector<Curve>& curves, std::vector<Measurement>& results) {
  for (const Curve& curve : curves) {
    const auto same = [&](const Curve& one) { return same_call(one.id, curve.id); };
    if (&*std::find_if(curves.begin(), curves.end(), same) != &curve) continue;  // done already
    const auto sizes = ranking(competitors(curves, curve));
    for (const Lead& lead : leads_of(sizes)) {
      Measurement result;
      result.id = lead.leader->id;
      result.id.benchmark = "collective_crossover";
      result.id.axes.set("against", lead.other->id.engine);
      const auto packet = lead.other->id.axes.number("packet");
      if (packet) result.id.axes.set("against_packet", *packet);
      result.rates = {{"crossover_bytes", lead.first},
                      {"last_bytes", lead.last},
                      {"smallest_bytes", sizes.begin()->first},
                      {"largest_bytes", sizes.rbegin()->first},
                      {"times_as_fast", lead.times}};
      results.push_back(std::move(result));
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
  // The fit is over bus bytes; the factor converts its sizes to the cases' bytes.
  const double size = curve.points.back().bytes / curve.points.back().bus_bytes;
  Measurement result;
  result.id = curve.id;
  result.id.benchmark = "collective_curve";
  const std::string refused = refusal(*fit, size);
  if (!refused.empty()) {
    result.notes = {{"no_fit", refused}};
    results.push_back(std::move(result));
    return;
  }
  result.rates = {{"latency_us", fit->latency_seconds * 1e6},
                  {"asymptotic_gb_per_s", fit->bytes_per_second / 1e9},
                  {"miss_percent", 100 * fit->worst_miss},
                  {"beyond_best_percent", 100 * fit->beyond_best},
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
