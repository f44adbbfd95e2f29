#include <map>
#include <string>
#include <utility>

#include "copy/cases.h"
#include "timing/fit.h"

namespace duet {
namespace {

struct Curve {
  CaseId id;
  std::vector<CopyPoint> points;
  double moved = 1;  // bytes that count for the rate, per byte of a case's size
};

Measurement measurement(const Curve& curve, const CopyFit& fit) {
  Measurement result;
  result.id = curve.id;
  result.id.benchmark = "copy_curve";
  const std::string refused = refusal(fit);
  if (!refused.empty()) {
    result.notes = {{"no_fit", refused}};
    return result;
  }
  result.rates = {{"latency_us", fit.latency_seconds * 1e6},
                  {"asymptotic_gb_per_s", curve.moved * fit.bytes_per_second / 1e9},
                  {"miss_percent", 100 * fit.worst_miss},
                  {"beyond_best_percent", 100 * fit.beyond_best},
                  {"n_half_bytes", fit.half_bytes}};
  const std::pair<const char*, double> shares[] = {{"bytes_50_percent", fit.bytes_50},
                                                   {"bytes_80_percent", fit.bytes_80},
                                                   {"bytes_90_percent", fit.bytes_90}};
  for (const auto& [share, bytes] : shares) {
    if (bytes > 0) result.rates.emplace_back(share, bytes);  // 0: never reached
  }
  return result;
}

}  // namespace

std::vector<Measurement> copy_curves(const std::vector<Finished>& finished) {
  std::vector<std::string> order;
  std::map<std::string, Curve> curves;
  for (const Finished& one : finished) {
    if (one.id.benchmark != "copy" || one.median_seconds <= 0) continue;
    Curve curve{one.id, {}, 1};
    curve.id.axes = one.id.axes.without({"bytes"});
    const std::string key = one.id.device + "|" + one.id.engine + "|" + curve.id.axes.key();
    if (curves.find(key) == curves.end()) {
      order.push_back(key);
      curves.emplace(key, std::move(curve));
    }
    const auto size = static_cast<double>(one.id.axes.number("bytes").value_or(0));
    if (size <= 0) continue;
    curves.at(key).points.push_back({size, one.median_seconds});
    const double counted = one.cost.wire_bytes > 0 ? one.cost.wire_bytes : one.cost.memory_bytes;
    curves.at(key).moved = counted / size;
  }
  std::vector<Measurement> results;
  for (const std::string& key : order) {
    const Curve& curve = curves.at(key);
    if (const auto fit = fit_copy(curve.points)) results.push_back(measurement(curve, *fit));
  }
  return results;
}

}  // namespace duet
