#include "overlap/advisor/advisor.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/units.h"
#include "overlap/advisor/interference.h"

namespace duet {
namespace {

constexpr double kTie = 1.01;

class Advisor {
 public:
  Advisor(const DeviceTable& table, const DevicePeaks& peaks, const OverlapScenario& scenario)
      : table_(table),
        forecast_(table, peaks),
        interferences_(table, forecast_),
        pair_(gemm_beside_collective(scenario)),
        pieces_(scenario.pieces) {}

  std::vector<PolicyForecast> all(const std::function<bool(const OverlapPolicy&)>& allowed) const {
    std::vector<PolicyForecast> list;
    for (const OverlapPolicy& policy : candidates()) {
      if ((allowed && !allowed(policy)) || !runs(engine(policy.kind))) continue;
      list.push_back(of(policy));
    }
    std::stable_sort(
        list.begin(), list.end(),
        [](const PolicyForecast& a, const PolicyForecast& b) { return a.together < b.together; });
    return list;
  }

 private:
  const BesideEntry* example(OverlapPolicyKind kind) const {
    const auto found =
        std::find_if(table_.besides.begin(), table_.besides.end(),
                     [kind](const BesideEntry& each) { return each.policy.kind == kind; });
    return found == table_.besides.end() ? nullptr : &*found;
  }

  std::string engine(OverlapPolicyKind kind) const {
    const bool by_dma = kind == OverlapPolicyKind::dma || kind == OverlapPolicyKind::dma_partition;
    if (!by_dma && kind != OverlapPolicyKind::zero_cta) return table_.vendor;
    const BesideEntry* found = example(by_dma ? OverlapPolicyKind::dma : kind);
    return found == nullptr ? table_.vendor : found->engine;
  }

  // Whether an engine can run the collective. It cannot if the table has times of the collective by
  // other engines but none by this one.
  bool runs(const std::string& engine) const {
    bool others = false;
    for (const CollectiveEntry& each : table_.collectives) {
      if (each.collective != pair_.collective) continue;
      if (each.engine == engine) return true;
      others = true;
    }
    return !others;
  }

  std::vector<OverlapPolicy> candidates() const {
    std::vector<OverlapPolicy> list{{OverlapPolicyKind::serial, 0}};
    const auto add = [&list](const OverlapPolicy& policy) {
      if (std::find(list.begin(), list.end(), policy) == list.end()) list.push_back(policy);
    };
    for (const BesideEntry& each : table_.besides) add(each.policy);
    for (const CollectiveEntry& each : table_.collectives) {
      if (each.collective != pair_.collective || each.engine != table_.vendor) continue;
      for (const UnitFactor& one : each.granted) {
        add({OverlapPolicyKind::partition, one.units});
        add({OverlapPolicyKind::priority_partition, one.units});
        if (example(OverlapPolicyKind::dma) != nullptr)
          add({OverlapPolicyKind::dma_partition, one.units});
      }
    }
    return list;
  }

  PolicyForecast of(const OverlapPolicy& policy) const {
    PolicyForecast one;
    one.policy = policy;
    one.engine = engine(policy.kind);
    one.compute = pieces_ * forecast_.compute(pair_.problem, units_taken(policy));
    one.communication = pieces_ * forecast_.communication(pair_.collective, pair_.bytes, one.engine,
                                                          units_granted(policy));
    const Sides sides{one.compute, one.communication};
    const Interference both = interferences_.of(policy, pair_.problem, pair_.collective, sides);
    one.loss = both.loss;
    one.slowdown = both.slowdown;
    const double shorter = std::min(both.slowdown * sides.shorter(), sides.serial());
    one.together = std::max(sides.longer() + both.loss * sides.shorter(), shorter);
    one.units = units(policy, one.engine);
    return one;
  }

  int units(const OverlapPolicy& policy, const std::string& engine) const {
    if (has_partition(policy.kind)) return policy.units;
    const bool kernels =
        policy.kind == OverlapPolicyKind::base || policy.kind == OverlapPolicyKind::priority;
    return kernels ? forecast_.units_needed(pair_.collective, engine) : 0;
  }

  const DeviceTable& table_;
  Forecast forecast_;
  Interferences interferences_;  // refers to forecast_
  GemmBesideCollective pair_;
  int pieces_;
};

const PolicyForecast& chosen(const std::vector<PolicyForecast>& fastest_first) {
  const double most = fastest_first.front().together * kTie;
  return *std::min_element(fastest_first.begin(), fastest_first.end(),
                           [most](const PolicyForecast& a, const PolicyForecast& b) {
                             const bool in = a.together <= most, other = b.together <= most;
                             if (in != other) return in;
                             return in && a.units < b.units;
                           });
}

// The share of the shorter side's time that is hidden behind the longer side.
double hidden(const PolicyForecast& one) {
  const Sides sides{one.compute, one.communication};
  return (sides.serial() - one.together) / sides.shorter();
}

std::string reason(const PolicyForecast& best, const std::vector<PolicyForecast>& all) {
  std::string text = fmt::format("GEMM {}, collective by {} {}, the shorter of them {:.0f}% hidden",
                                 format_seconds(best.compute), best.engine,
                                 format_seconds(best.communication), 100 * hidden(best));
  const PolicyForecast& fastest = all.front();
  if (!(fastest.policy == best.policy)) {
    text += fmt::format("; {} is as fast within 1%, but takes {} units", name(fastest.policy),
                        fastest.units);
  } else if (all.size() > 1) {
    text +=
        fmt::format("; next is {} with {}", name(all[1].policy), format_seconds(all[1].together));
  }
  return text;
}

}  // namespace

Advice advise(const DeviceTable& table, const DevicePeaks& peaks, const OverlapScenario& scenario,
              const std::function<bool(const OverlapPolicy&)>& allowed) {
  Advice advice;
  advice.forecasts = Advisor(table, peaks, scenario).all(allowed);
  if (advice.forecasts.empty()) {
    throw UsageError(fmt::format("{}: the table knows none of the policies to choose from",
                                 full_name(scenario)));
  }
  const PolicyForecast& best = chosen(advice.forecasts);
  advice.policy = best.policy;
  advice.seconds = best.together;
  advice.why = reason(best, advice.forecasts);
  return advice;
}

}  // namespace duet
