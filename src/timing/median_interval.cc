// The confidence interval of the median of correlated samples (docs/measuring.md);
// bench/interval_coverage.cc measures its coverage.
//
// The samples are replaced by normal scores of their ranks. The error of the scores' median is a
// posterior over first-order autoregressions, in units of the scores' standard deviation. The
// samples' own quantiles convert it back to seconds.
#include "timing/median_interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "timing/statistics.h"

namespace duet {
namespace {

// 1 - the confidence level. The posterior's own level is stricter, because the posterior does not
// know about the stopping rule.
constexpr double kOutside = 0.05;
constexpr double kOutsidePosterior = 0.04;
constexpr double kPi = 3.141592653589793;

// The prior: every order of magnitude of the correlation time 1 / (1 - rho), from 1 to 100 samples,
// is equally likely. A few samples cannot exclude a correlation time longer than all of them; some
// thirty independent samples can.
constexpr double kLargestRho = 0.99;  // of neighbouring samples
constexpr double kRestStep = 0.85;    // from one 1 - rho to the next

// Means of batches show a correlation that independent noise hides between neighbours. Fewer
// batches than kFewestBatches would widen the interval of independent samples too.
constexpr std::size_t kFewestBatches = 32;
constexpr std::size_t kShortestBatch = 4;

// The spread is measured between the quantiles at normal scores of -0.84 and 0.84 (20% and 80%).
constexpr double kSpreadScore = 0.8416212;

// Samples within this relative distance are equal: in virtual time they differ by rounding alone.
constexpr double kSame = 1e-9;

// The samples' normal scores, in the order of the samples: the standard normal quantile of each
// sample's rank. Equal samples have equal scores. An outlier counts no more than its rank.
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

// The means of `parts` batches of the samples' influence on the median, in units of scores. A
// sample's influence depends only on whether it is above or below the median.
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
  double log_weight;  // log of the likelihood, with mean and variance integrated out
  double deviation;   // scale of the mean's posterior, a Student's t with n - 1 degrees of freedom
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

// Half the width of the interval of the values' median or, if they are means of `length` samples
// each, of their mean. The longest correlation time is the same number of samples for every length.
double half_width(const std::vector<double>& values, bool median, double length) {
  const double n = static_cast<double>(values.size());
  const double least = 1 - std::pow(kLargestRho, length);
  std::vector<Autoregression> all;
  double largest = -HUGE_VAL;
  for (double rest = 1; rest >= least; rest *= kRestStep) {
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

// The largest half width, over single samples and all batch lengths.
double widest(const std::vector<double>& scores) {
  const double n = static_cast<double>(scores.size());
  double half = half_width(scores, true, 1);
  for (std::size_t parts = scores.size() / kShortestBatch; parts >= kFewestBatches; parts /= 2) {
    const std::vector<double> means = batch_means(scores, parts);
    if (!all_same(means))
      half = std::max(half, half_width(means, false, n / static_cast<double>(parts)));
  }
  return half;
}

// The values' quantile at a normal score; beyond the first or last value, that value.
double value_at(double score, const std::vector<double>& sorted) {
  const double n = static_cast<double>(sorted.size());
  const double place = std::clamp((1 - normal_tail(score)) * n - 0.5, 0.0, n - 1);
  const std::size_t below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// The distance of an end of the interval from the median, over sorted values; `half` is negative
// for the lower end. The distance is at least half / kSpreadScore times the spread on that side: if
// the samples have two speeds, quantiles near the median do not show the other speed.
double distance(double half, const std::vector<double>& sorted) {
  const double middle = value_at(0, sorted);
  const double spread = value_at(half < 0 ? -kSpreadScore : kSpreadScore, sorted) - middle;
  return std::max(std::fabs(value_at(half, sorted) - middle),
                  std::fabs(half / kSpreadScore * spread));
}

double middle_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return value_at(0, values);
}

// Whether the samples rise or fall all the time: the medians of their first and last third lie
// beyond opposite ends of the interval.
bool has_trend(const std::vector<double>& samples, const MedianInterval& interval) {
  if (samples.size() < kFewestThatDrift) return false;
  const auto third = static_cast<std::ptrdiff_t>(samples.size() / 3);
  const double first = middle_of({samples.begin(), samples.begin() + third});
  const double last = middle_of({samples.end() - third, samples.end()});
  return std::min(first, last) < interval.low && std::max(first, last) > interval.high;
}

// Half the width of the interval for n independent scores.
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
  const double n = static_cast<double>(samples.size());
  const double half = widest(normal_scores(samples, sorted));
  const double middle = value_at(0, sorted);
  MedianInterval interval;
  interval.low = middle - distance(-half, sorted);
  interval.high = middle + distance(half, sorted);
  interval.width = interval.high - interval.low;
  const bool within = interval.low >= sorted.front() && interval.high <= sorted.back();
  interval.bounded = within && half < -normal_quantile(0.5 / n) && !has_trend(samples, interval);
  interval.low = interval.bounded ? interval.low : sorted.front();
  interval.high = interval.bounded ? interval.high : sorted.back();
  interval.widening = half / independent_half_width(n);
  return interval;
}

}  // namespace duet
