// The noise of a figure between runs of one program. It decides which change between journals is
// real.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "timing/statistics.h"

namespace duet {

// The standard deviation between runs that is assumed for a device without repeats. The deviation
// of a time t is the root of (share x t)^2 + seconds^2.
struct UsualNoise {
  double share = 0;    // of the time
  double seconds = 0;  // added to any time
};

// By the `kind` of a device: "host", "cuda", "hip". 0 in virtual time.
UsualNoise usual_noise(const std::string& kind, bool virtual_time);

// The standard deviation of the logarithm of a run's median, from its confidence interval; 0 if
// there is one sample and so no interval.
double deviation_of_median(const Summary& seconds);

// The logarithm of the factor by which a load lengthens a time: a load of half the CPU doubles it.
double slowdown(double load);

struct RunFigure {
  double seconds = 0;    // the median
  double deviation = 0;  // standard deviation of the median's logarithm within the run
  double load = 0;       // share of the CPU that others used; 0 if that does not slow the device
  // What is compared, scaled so that it falls by 1% where the time grows by 1%; none: the rate's
  // logarithm.
  std::optional<double> figure = {};
};

struct CaseRuns {
  std::vector<RunFigure> base, now;  // at least one on each side; all seconds are above 0
  UsualNoise usual;
};

struct Shift {
  double log_ratio = 0;   // log(base seconds / new seconds), by geometric means, or of figures
                          // new - base, by means
  double half_width = 0;  // of the confidence interval of log_ratio
};

// The shift of each case. With 95% probability all intervals hold at once, for any number of cases
// (Bonferroni).
// - A case with repeats: the noise is estimated from them and from a usual noise, which has the
//   weight of 4 degrees of freedom. The usual noise is the larger of the device's and that of the
//   median case of this comparison. An interval is at least as wide as the runs' own intervals
//   require.
// - A case with one run a side: the noise is the device's usual noise, the runs' own intervals and
//   the slowdown that their load explains.
std::vector<Shift> shifts_of(const std::vector<CaseRuns>& cases);

}  // namespace duet
