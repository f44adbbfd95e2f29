#include "overlap/advisor/interference.h"

namespace duet {
int units_taken(const OverlapPolicy& policy) {
  return has_partition(policy.kind) ? policy.units : 0;
}

int units_granted(const OverlapPolicy& policy) {
  return policy.kind == OverlapPolicyKind::dma_partition ? 0 : units_taken(policy);
}

Interference Interferences::of(const OverlapPolicy& policy, const GemmProblem& problem,
                               CollectiveKind collective, const Sides& sides) const {
  if (policy.kind == OverlapPolicyKind::serial) return {1, 1};
  Wanted wanted{policy, forecast_.bound(problem), sides.compute_longer(), collective};
  if (const auto known = mean(wanted)) return *known;
  wanted.policy = {OverlapPolicyKind::dma, 0};
  const auto known = has_partition(policy.kind) ? mean(wanted) : std::nullopt;
  return known ? *known : Interference{};
}

std::optional<Interference> Interferences::mean(const Wanted& wanted) const {
  int closest = -1;
  double weight = 0;  // sum of the shorter sides' times: a very short side gives little information
  Interference sum;
  for (const BesideEntry& each : table_.besides) {
    if (each.policy.kind != wanted.policy.kind) continue;
    const int alike = likeness(each, wanted);
    if (alike < closest) continue;
    if (alike > closest) {
      sum = {0, 0};
      weight = 0;
    }
    closest = alike;
    const Interference one = of(each, wanted.compute_longer);
    const double shorter = sides(each).shorter();
    sum = {sum.loss + shorter * one.loss, sum.slowdown + shorter * one.slowdown};
    weight += shorter;
  }
  if (closest < 0) return std::nullopt;
  return Interference{sum.loss / weight, sum.slowdown / weight};
}

int Interferences::likeness(const BesideEntry& pair, const Wanted& wanted) const {
  const bool bound = forecast_.bound(pair.compute) == wanted.bound;
  const bool longer = sides(pair).compute_longer() == wanted.compute_longer;
  const bool collective = reduces(pair.collective) == reduces(wanted.collective);
  return 8 * bound + 4 * longer + 2 * collective + (pair.policy.units == wanted.policy.units);
}

// engine_alone was measured on the units of the policy, but compute_alone on all units; the GEMM's
// time is therefore scaled.
Sides Interferences::sides(const BesideEntry& pair) const {
  const double fewer = forecast_.compute(pair.compute, units_taken(pair.policy)) /
                       forecast_.compute(pair.compute, 0);
  return {pair.compute_alone * fewer, pair.engine_alone};
}

// The slowdown is that of the pair's shorter side, during which the other side always ran. A pair
// in which the other side is the shorter one gives no slowdown.
Interference Interferences::of(const BesideEntry& pair, bool compute_longer) const {
  const Sides alone = sides(pair);
  Interference both;
  both.loss = std::max(0.0, (pair.together - alone.longer()) / alone.shorter());
  if (alone.compute_longer() != compute_longer) return both;
  both.slowdown = compute_longer ? pair.communication_slowdown
                                 : pair.compute_slowdown * pair.compute_alone / alone.compute;
  return both;
}

}  // namespace duet
