// Normal distribution and Student's t, whose tails are approximated from the normal ones.
#pragma once

#include <functional>

namespace duet {

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
