#pragma once

#include <cstddef>
#include <functional>
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

// Normal distribution and Student's t, whose tails are approximated from the normal ones.

// The probability that a standard normal variable is above z.
double normal_tail(double z);

// The z for which a standard normal variable is below z with probability p, for p in (0, 1).
double normal_quantile(double p);

// The probability that Student's t is beyond -t or t (Wallace, Bounds on normal approximations to
// Student's and the chi-square distributions, 1959). From two degrees of freedom on, a tail of 5%
// is within a tenth. Infinitely many degrees of freedom give the normal distribution.
double student_tails(double t, double freedom);

// The t for which student_tails(t, freedom) is `outside`.
double student_quantile(double outside, double freedom);

// The root between 0 and 10^6 of a falling function that is positive at 0.
double falling_root(const std::function<double(double)>& falling);

}  // namespace duet
