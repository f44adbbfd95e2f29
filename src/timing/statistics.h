#pragma once

#include <cstddef>
#include <vector>

namespace duet {

// Summary statistics of samples, in the samples' unit.
struct Summary {
  std::size_t n = 0;
  double median = 0, mean = 0, min = 0, max = 0;
  double p5 = 0, p95 = 0, p99 = 0;
  double ci_low = 0, ci_high = 0;  // 95% confidence interval of the median
  bool bounded = true;             // MedianInterval::bounded
  double ci_width = 0;             // MedianInterval::width
  bool drifting = false;           // not bounded, and not because there are few samples
  // The interval's width over the width for as many independent samples: the price of correlation,
  // or of uncertainty about it.
  double widening = 0;
};

// Quantile q in [0, 1] of sorted values, by linear interpolation between order statistics (type 7
// of Hyndman and Fan, Sample quantiles in statistical packages, 1996). Throws BadArgument if empty.
double quantile(const std::vector<double>& sorted, double q);

// `samples` are in the order in which they were taken, on which the interval depends
// (median_interval.h). No samples give a summary of zeros.
Summary summarise(std::vector<double> samples);

}  // namespace duet
