// The interval of a median of correlated samples. docs/measuring.md says how it is made, and
// bench/interval_coverage.cc how often it holds.
//
// The samples are replaced by normal scores of their ranks. Of these the error of the median is
// derived as a posterior over first-order autoregressions, in units of the scores' standard
// deviation, and carried back to seconds through the samples' own quantiles.
#include "timing/median_interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "timing/student.h"

namespace duet {
namespace {

// 1 - the level. What the posterior is asked for leaves less out, since it knows nothing of the
// stopping rule.
constexpr double kOutside = 0.05;
constexpr double kOutsidePosterior = 0.04;
constexpr double kPi = 3.141592653589793;

// Every order of magnitude of the time of correlation, 1 / (1 - rho) from 1 to 100 samples, is as
// likely as every other before the samples are looked at. A few samples cannot rule out that they
// are all alike, and their interval is wide; some thirty independent ones can.
constexpr double kLeastRest = 0.01;  // of 1 - rho
constexpr double kRestStep = 0.85;

// Correlation that noise between neighbours hides shows in means of batches; fewer batches than
// these would widen the interval of independent samples too.
constexpr std::size_t kFewestBatches = 32;
constexpr std::size_t kShortestBatch = 4;

// The share of the samples between which the spread is taken: normal scores of -0.84 and 0.84.
constexpr double kSpreadScore = 0.8416212;

// Exact repetition: what virtual time leaves of rounding.
constexpr double kSame = 1e-9;

// Standard normal values in the samples' order of size, equal for equal samples: the order in time
// is kept, and no outlier counts for more than its rank.
std::vector<double> normal_scores(const std::vector<double>& samples,
                                  const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  std::vector<double> quantiles(n);
  for (std::size_t i = 0; i < n / 2; ++i) {
    quantiles[i] = normal_quantile((static_cast<double>(i) + 0.5) / static_cast<double>(n));
    quantiles[n - 1 - i] = -quantiles[i];
  }
  std::vector<double> scores;
  scores.reserve(n);
  for (const double sample : samples) {
    const auto equal = std::equal_range(sorted.begin(), sorted.end(), sample);
    const auto first = static_cast<std::size_t>(equal.first - sorted.begin());
    const auto last = static_cast<std::size_t>(equal.second - sorted.begin()) - 1;
    scores.push_back((quantiles[first] + quantiles[last]) / 2);
  }
  return scores;
}

// Of `parts` batches the mean of what each sample adds to the median, in units of scores: whether
// it is above or below.
std::vector<double> batch_means(const std::vector<double>& scores, std::size_t parts) {
  std::vector<double> means(parts);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = part * scores.size() / parts;
    const std::size_t end = (part + 1) * scores.size() / parts;
    int above = 0;
    for (std::size_t i = begin; i < end; ++i) above += (scores[i] > 0) - (scores[i] < 0);
    means[part] = std::sqrt(kPi / 2) * above / static_cast<double>(end - begin);
  }
  return means;
}

// The variance of the median of n normal values over that of their mean.
double median_over_mean(double rho, double n) {
  constexpr double kNegligible = 1e-3;
  double median = kPi / 2, mean = 1, power = rho;
  for (double lag = 1; lag < n && power > kNegligible; ++lag, power *= rho) {
    median += 2 * (1 - lag / n) * std::asin(power);
    mean += 2 * (1 - lag / n) * power;
  }
  return median / mean;
}

struct Autoregression {
  double log_weight;  // of the values' likelihood, mean and variance integrated out
  double deviation;   // of the mean, about which it is Student's with n - 1 degrees of freedom
};

// The likelihood of a stationary first-order autoregression with correlation `rho`.
Autoregression autoregression(const std::vector<double>& values, double rho) {
  const double freedom = static_cast<double>(values.size()) - 1;
  const double rest = 1 - rho * rho;
  const double step = 1 - rho;
  double ones = rest + freedom * step * step;
  double sum = values[0] * rest, squares = values[0] * values[0] * rest;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double innovation = values[i] - rho * values[i - 1];
    sum += step * innovation;
    squares += innovation * innovation;
  }
  const double left = (squares - sum * sum / ones) / rest;
  ones /= rest;
  const double log_weight =
      -0.5 * (freedom * std::log(rest) + std::log(ones) + freedom * std::log(left));
  return {log_weight, std::sqrt(left / freedom / ones)};
}

// Half of the interval of the mean of the values, or of their median.
double half_width(const std::vector<double>& values, bool median) {
  const double n = static_cast<double>(values.size());
  std::vector<Autoregression> all;
  double largest = -HUGE_VAL;
  for (double rest = 1; rest >= kLeastRest; rest *= kRestStep) {
    all.push_back(autoregression(values, 1 - rest));
    largest = std::max(largest, all.back().log_weight);
    if (median) all.back().deviation *= std::sqrt(median_over_mean(1 - rest, n));
  }
  double total = 0;
  for (const Autoregression& one : all) total += std::exp(one.log_weight - largest);
  return falling_root([&](double half) {
    double outside = 0;
    for (const Autoregression& one : all) {
      outside += std::exp(one.log_weight - largest) * student_tails(half / one.deviation, n - 1);
    }
    return outside / total - kOutsidePosterior;
  });
}

bool all_same(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [&](double one) { return one == values[0]; });
}

// The widest over the samples and all lengths of batches.
double widest(const std::vector<double>& scores) {
  double half = half_width(scores, true);
  for (std::size_t parts = scores.size() / kShortestBatch; parts >= kFewestBatches; parts /= 2) {
    const std::vector<double> means = batch_means(scores, parts);
    if (!all_same(means)) half = std::max(half, half_width(means, false));
  }
  return half;
}

// The values' quantile at a normal score; beyond them it goes on as from the median to the last.
double value_at(double score, const std::vector<double>& sorted) {
  const double n = static_cast<double>(sorted.size());
  const double place = (1 - normal_tail(score)) * n - 0.5;
  if (place >= 0 && place <= n - 1) {
    const std::size_t below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
  }
  const double middle = value_at(0, sorted);
  const double beyond = std::fabs(score / normal_quantile(0.5 / n));
  return middle + beyond * ((score < 0 ? sorted.front() : sorted.back()) - middle);
}

// How far from the median an end is, over sorted values; `half` is below 0 for the lower end. No
// nearer than the spread on its side allows: between two speeds the quantiles near the median say
// nothing of the other speed.
double distance(double half, const std::vector<double>& sorted) {
  const double middle = value_at(0, sorted);
  const double spread = value_at(half < 0 ? -kSpreadScore : kSpreadScore, sorted) - middle;
  return std::max(std::fabs(value_at(half, sorted) - middle),
                  std::fabs(half / kSpreadScore * spread));
}

// The half width for n independent scores.
double independent_half_width(double n) {
  return student_quantile(kOutside, n - 1) * std::sqrt(kPi / 2 / n);
}

}  // namespace

MedianInterval median_interval(const std::vector<double>& samples) {
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.back() - sorted.front() <= kSame * sorted.back()) {
    return {sorted.front(), sorted.back()};
  }
  const double half = widest(normal_scores(samples, sorted));
  MedianInterval interval;
  const double middle = value_at(0, sorted);
  interval.high = middle + distance(half, sorted);
  if (sorted.front() > 0) {  // of logarithms, so that no time is negative
    for (double& one : sorted) one = std::log(one);
    interval.low = std::exp(value_at(0, sorted) - distance(-half, sorted));
  }
  interval.widening = half / independent_half_width(static_cast<double>(samples.size()));
  return interval;
}

}  // namespace duet
