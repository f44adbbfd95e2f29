// Forecasts for every policy, and the choice among them.
#include "overlap/advisor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/units.h"

namespace duet {
namespace {

using Kind = OverlapPolicy::Kind;

constexpr double kTie = 1.01;
constexpr double kTileRows = 128, kTileColumns = 256;

// Units that a policy keeps from the GEMM, and grants to the collective's kernels.
int taken_by(const OverlapPolicy& policy) { return has_partition(policy.kind) ? policy.units : 0; }
int granted_by(const OverlapPolicy& policy) {
  return policy.kind == Kind::dma_partition ? 0 : taken_by(policy);
}

struct Sides {
  double compute, communication;
  double longer() const { return std::max(compute, communication); }
  double shorter() const { return std::min(compute, communication); }
  bool compute_longer() const { return compute >= communication; }
};

class Advisor {
 public:
  Advisor(const DeviceTable& table, const DevicePeaks& peaks, const OverlapScenario& scenario)
      : table_(table),
        forecast_(table, peaks),
        problem_(problem_of(scenario)),
        kind_(scenario.collective),
        bytes_(scenario.bytes / static_cast<std::uint64_t>(scenario.pieces)) {}

  std::vector<PolicyForecast> all(const std::function<bool(const OverlapPolicy&)>& allowed) const {
    std::vector<PolicyForecast> list;
    for (const OverlapPolicy& policy : candidates()) {
      if (allowed && !allowed(policy)) continue;
      list.push_back(of(policy));
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const PolicyForecast& a, const PolicyForecast& b) {
                       return a.together < b.together;
                     });
    return list;
  }

 private:
  const BesideEntry* example(Kind kind) const {
    const auto found =
        std::find_if(table_.besides.begin(), table_.besides.end(),
                     [kind](const BesideEntry& each) { return each.policy.kind == kind; });
    return found == table_.besides.end() ? nullptr : &*found;
  }

  std::string engine(Kind kind) const {
    const bool by_dma = kind == Kind::dma || kind == Kind::dma_partition;
    if (!by_dma && kind != Kind::zero_cta) return table_.vendor;
    const BesideEntry* found = example(by_dma ? Kind::dma : kind);
    return found == nullptr ? table_.vendor : found->engine;
  }

  std::vector<OverlapPolicy> candidates() const {
    std::vector<OverlapPolicy> list{{Kind::serial, 0}};
    const auto add = [&list](const OverlapPolicy& policy) {
      if (std::find(list.begin(), list.end(), policy) == list.end()) list.push_back(policy);
    };
    for (const BesideEntry& each : table_.besides) add(each.policy);
    for (const CollectiveEntry& each : table_.collectives) {
      if (each.collective != kind_ || each.engine != table_.vendor) continue;
      for (const UnitFactor& one : each.granted) {
        add({Kind::partition, one.units});
        add({Kind::priority_partition, one.units});
        if (example(Kind::dma) != nullptr) add({Kind::dma_partition, one.units});
      }
    }
    return list;
  }

  PolicyForecast of(const OverlapPolicy& policy) const {
    PolicyForecast one;
    one.policy = policy;
    one.engine = engine(policy.kind);
    one.compute = forecast_.compute(problem_, taken_by(policy));
    one.communication = forecast_.communication(kind_, bytes_, one.engine, granted_by(policy));
    const Sides sides{one.compute, one.communication};
    one.loss = loss(policy, sides);
    one.together = sides.longer() + one.loss * sides.shorter();
    one.units = units(policy, one.engine);
    return one;
  }

  int units(const OverlapPolicy& policy, const std::string& engine) const {
    if (has_partition(policy.kind)) return policy.units;
    const bool kernels = policy.kind == Kind::base || policy.kind == Kind::priority;
    return kernels ? forecast_.units_needed(kind_, engine) : 0;
  }

  // Kept units leave memory and power to quarrel about, as copy engines do.
  double loss(const OverlapPolicy& policy, const Sides& sides) const {
    if (policy.kind == Kind::serial) return 1;
    for (const Kind kind : {policy.kind, Kind::dma}) {
      if (const auto known = loss_of(kind, policy.units, sides)) return *known;
      if (!has_partition(policy.kind)) break;
    }
    return 0;
  }

  // The mean over the kind's pairs that are most like this one.
  std::optional<double> loss_of(Kind kind, int units, const Sides& sides) const {
    int closest = -1, count = 0;
    double sum = 0;
    for (const BesideEntry& each : table_.besides) {
      if (each.policy.kind != kind) continue;
      const int likeness = like(each, units, sides);
      if (likeness < closest) continue;
      if (likeness > closest) sum = count = 0;
      closest = likeness;
      sum += lost(each);
      ++count;
    }
    return count > 0 ? std::optional(sum / count) : std::nullopt;
  }

  // The bound counts most, then which side is longer, then the collective, then the units.
  int like(const BesideEntry& each, int units, const Sides& sides) const {
    const bool same_bound = forecast_.bound(each.compute) == forecast_.bound(problem_);
    const bool same_longer = of(each).compute_longer() == sides.compute_longer();
    const bool same_kind = each.collective == kind_;
    return 8 * same_bound + 4 * same_longer + 2 * same_kind + (each.policy.units == units);
  }

  // The pair's sides alone, on the units that its policy left them; the collective was measured so.
  Sides of(const BesideEntry& pair) const {
    const double fewer = forecast_.compute(pair.compute, taken_by(pair.policy)) /
                         forecast_.compute(pair.compute, 0);
    return {pair.compute_alone * fewer, pair.engine_alone};
  }

  double lost(const BesideEntry& pair) const {
    const Sides sides = of(pair);
    return std::max(0.0, (pair.together - sides.longer()) / sides.shorter());
  }

  const DeviceTable& table_;
  Forecast forecast_;
  GemmProblem problem_;
  CollectiveKind kind_;
  std::uint64_t bytes_;
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

std::string reason(const PolicyForecast& best, const std::vector<PolicyForecast>& all) {
  std::string text = fmt::format(
      "GEMM {} and collective by {} {}; each second that both run costs {:.2f} s",
      format_seconds(best.compute), best.engine, format_seconds(best.communication), best.loss);
  const PolicyForecast& fastest = all.front();
  if (!(fastest.policy == best.policy)) {
    text += fmt::format("; {} is as fast within 1%, but takes {} units", name(fastest.policy),
                        fastest.units);
  } else if (all.size() > 1) {
    text += fmt::format("; next is {} with {}", name(all[1].policy),
                        format_seconds(all[1].together));
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
                                 scenario.name));
  }
  const PolicyForecast& best = chosen(advice.forecasts);
  advice.policy = best.policy;
  advice.seconds = best.together;
  advice.why = reason(best, advice.forecasts);
  return advice;
}

std::vector<std::size_t> order_by_need(const std::vector<WorkNeed>& works) {
  std::vector<std::size_t> order(works.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&works](std::size_t a, std::size_t b) {
    return works[a].workgroups < works[b].workgroups;
  });
  return order;
}

double workgroups(const GemmProblem& problem) {
  return std::ceil(static_cast<double>(problem.m) / kTileRows) *
         std::ceil(static_cast<double>(problem.n) / kTileColumns);
}

}  // namespace duet
