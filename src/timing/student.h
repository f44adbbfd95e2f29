// Student's t, as approximated from the normal distribution.
#pragma once

#include <functional>

namespace duet {

// The share of a standard normal above z.
double normal_tail(double z);

// The z below which the share p of a standard normal is, for p in (0, 1).
double normal_quantile(double p);

// Both tails of Student's t beyond -t and t (Wallace, Bounds on normal approximations to Student's
// and the chi-square distributions, 1959: within a tenth of a tail of 5% from two degrees of
// freedom on). Infinitely many degrees of freedom give the normal distribution.
double student_tails(double t, double freedom);

// The t beyond which both tails together are `outside`.
double student_quantile(double outside, double freedom);

// Where a function that falls from above 0 reaches 0, over positive numbers up to 10^6.
double falling_root(const std::function<double(double)>& falling);

}  // namespace duet
