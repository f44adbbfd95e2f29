#pragma once

#include <vector>

namespace duet {

struct MedianInterval {
  double low = 0, high = 0;
  double widening = 1;  // width over the width for as many independent samples of the same spread
};

// The 95% confidence interval of the median of the process that the samples come from. `samples`
// are in the order in which they were taken; at least one, none negative. The interval allows for
// correlation between neighbours, and for a caller who stopped because an earlier interval was
// narrow. Few or strongly correlated samples give a wide interval, which may reach beyond all of
// them. One sample, or samples that are all equal, give a point.
MedianInterval median_interval(const std::vector<double>& samples);

}  // namespace duet
