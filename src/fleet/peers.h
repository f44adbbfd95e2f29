// Values beside their peers: a middle and a deviation that a minority of slow ones does not change.
#pragma once

#include <cstddef>
#include <vector>

namespace duet {

// The median; `values` is not empty.
double middle_of(std::vector<double> values);

// The standard deviation of values about their median: by the median deviation, or by the lower
// quartile where that is farther away, as in a fleet whose GPUs in order have a tail of slow ones.
// `compared`: the number of values in each median that was taken off. Few of them follow their
// median; the factor is that of normal values whose tail of 1 in 1,000 fits.
double robust_deviation(std::vector<double> values, double middle, std::size_t compared);

// Median and variance of values that are compared; the variance is that of one value, and is as
// uncertain as one of `freedom` degrees of freedom.
struct Peers {
  double middle = 0, variance = 0, freedom = 0;
};

// `usual`: a variance that has the weight of 4 peers, as in a comparison of journals
// (results/noise.h).
Peers peers_of(const std::vector<double>& values, double usual, std::size_t compared);

}  // namespace duet
