// How sure the median of a series of samples is.
#pragma once

#include <vector>

namespace duet {

struct MedianInterval {
  double low = 0, high = 0;
  double widening = 1;  // its width over that for as many independent samples of the same spread
};

// The 95% interval of the median of the process that the samples come from, in the order in which
// they were taken: neighbours may be alike, and the caller may have stopped because an earlier
// interval was narrow. Where the samples are too few or too alike to say, it is wide, beyond all of
// them if need be. One sample, or samples that are all the same, give a point. There is at least
// one sample, and none is negative.
MedianInterval median_interval(const std::vector<double>& samples);

}  // namespace duet
