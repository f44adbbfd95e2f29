#pragma once

#include <cstddef>
#include <vector>

namespace duet {

// Unbounded intervals (below) of this many samples or more are due to drift; fewer samples cannot
// tell drift from noise.
inline constexpr std::size_t kFewestThatDrift = 24;

struct MedianInterval {
  double low = 0, high = 0;  // within the range of the samples
  double widening = 1;  // width over the width for as many independent samples of the same spread
  // False: the samples are too few, or drift too slowly, for an interval within their range. The
  // interval is that range, and the median is less certain than it says.
  bool bounded = true;
  double width = 0;  // high - low, before it is cut to the range
};

// The 95% confidence interval of the median of the process that the samples come from. `samples`
// are in the order in which they were taken; at least one, none negative. The interval allows for
// correlation between neighbours, and for a caller who stopped because an earlier interval was
// narrow. One sample, or samples that are all equal, give a point.
MedianInterval median_interval(const std::vector<double>& samples);

}  // namespace duet
