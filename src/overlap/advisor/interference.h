// What the sides of a pair do to each other under a policy, by a table's most similar pairs.
#pragma once

#include <algorithm>
#include <optional>

#include "overlap/advisor/forecast.h"

namespace duet {

// Seconds of both sides alone, on the units that a policy leaves them.
struct Sides {
  double compute = 0, communication = 0;

  double longer() const { return std::max(compute, communication); }
  double shorter() const { return std::min(compute, communication); }
  double serial() const { return compute + communication; }
  bool compute_longer() const { return compute >= communication; }
};

// Together: max(longer + loss x shorter, min(slowdown x shorter, serial)).
struct Interference {
  double loss = 0;      // of time, over the longer side, as a share of the shorter one
  double slowdown = 1;  // of the shorter side, while the longer one runs
};

// Units that a policy keeps from the GEMM, and those to which it keeps the collective's kernels.
int units_taken(const OverlapPolicy& policy);
int units_granted(const OverlapPolicy& policy);

class Interferences {
 public:
  // Both must outlive it.
  Interferences(const DeviceTable& table, const Forecast& forecast)
      : table_(table), forecast_(forecast) {}

  // The mean over the pairs of the policy's kind that are most like this one, by their shorter
  // sides: of the same class, then with the same side longer, with a collective that reduces or one
  // that does not, on the same units. Partitions without a pair
  // do as `dma` does: kept units leave memory and power to quarrel about.
  Interference of(const OverlapPolicy& policy, const GemmProblem& problem,
                  CollectiveKind collective, const Sides& sides) const;

 private:
  struct Wanted {
    OverlapPolicy policy;
    BoundClass bound;
    bool compute_longer;
    CollectiveKind collective;
  };

  std::optional<Interference> mean(const Wanted& wanted) const;
  int likeness(const BesideEntry& pair, const Wanted& wanted) const;
  Sides sides(const BesideEntry& pair) const;
  Interference of(const BesideEntry& pair, bool compute_longer) const;

  const DeviceTable& table_;
  const Forecast& forecast_;
};

}  // namespace duet
