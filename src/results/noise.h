// How far apart the figures of one program are from run to run, and so which change is one.
#pragma once

#include <string>
#include <vector>

namespace duet {

// The standard deviation between runs that is reckoned with on a device before there are repeats:
// that of a time is the root of the sum of both squares.
struct UsualNoise {
  double share = 0;    // of the time
  double seconds = 0;  // of any time
};

// By the `kind` of a device: "host", "cuda", "hip"; none on a simulated machine.
UsualNoise usual_noise(const std::string& kind, bool virtual_time);

struct RunFigure {
  double seconds = 0;    // the median
  double deviation = 0;  // of its logarithm within the run, by its interval
  double load = 0;       // share of the CPU that others had, where that slows the device
};

struct CaseRuns {
  std::vector<RunFigure> base, now;  // one at least on each side, none of 0 seconds
  UsualNoise usual;
};

struct Shift {
  double log_ratio = 0;   // of base seconds over new ones, geometric means
  double half_width = 0;  // of its interval
};

// The cases' shifts. Their intervals hold all at once with 95%, however many cases there are
// (Bonferroni). From repeats the noise is estimated, with four runs' weight for what is usual: for
// the device, and for the cases of this comparison. Without, what is usual stands for it, with the
// runs' own intervals and what load explains. No interval is narrower than the runs' own allow.
std::vector<Shift> shifts_of(const std::vector<CaseRuns>& cases);

}  // namespace duet
