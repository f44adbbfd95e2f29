#pragma once

#include <algorithm>
#include <optional>

#include "overlap/advisor/forecast.h"

namespace duet {

// Seconds of each side alone, on the units that a policy leaves to it.
struct Sides {
  double compute = 0, communication = 0;

  double longer() const { return std::max(compute, communication); }
  double shorter() const { return std::min(compute, communication); }
  double serial() const { return compute + communication; }
  bool compute_longer() const { return compute >= communication; }
};

// How much two sides disturb each other. The time of both together is
// max(longer + loss x shorter, min(slowdown x shorter, serial)).
struct Interference {
  double loss = 0;      // (time together - longer) / shorter
  double slowdown = 1;  // of the shorter side while the longer one runs
};

// The number of units that a policy withholds from the GEMM, and the number to which it limits the
// collective's kernels (0: no limit).
int units_taken(const OverlapPolicy& policy);
int units_granted(const OverlapPolicy& policy);

// Estimates the interference of a pair under a policy from the most similar pairs in a table.
class Interferences {
 public:
  // Both arguments must outlive this object.
  Interferences(const DeviceTable& table, const Forecast& forecast)
      : table_(table), forecast_(forecast) {}

  // The mean over the table's pairs of the same kind of policy that are most similar to this pair,
  // weighted by the time of their shorter side. Criteria of similarity, the most important first:
  // the GEMM's class, which side is longer, whether the collective reduces, the number of units.
  // A partition without a measured pair gets the interference of `dma`: separate units still share
  // memory bandwidth and power.
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
