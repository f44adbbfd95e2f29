#include "results/noise.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "timing/statistics.h"

namespace duet {
namespace {

constexpr double kOutside = 0.05;   // probability that any of all intervals fails
constexpr double kUsualWeight = 4;  // degrees of freedom
constexpr double kMostLoad = 0.95;

double square(double value) { return value * value; }

double mean_log(const std::vector<RunFigure>& runs) {
  double sum = 0;
  for (const RunFigure& run : runs) sum += std::log(run.seconds);
  return sum / static_cast<double>(runs.size());
}

double figure_of(const RunFigure& run) { return run.figure ? *run.figure : -std::log(run.seconds); }

double mean_figure(const std::vector<RunFigure>& runs) {
  double sum = 0;
  for (const RunFigure& run : runs) sum += figure_of(run);
  return sum / static_cast<double>(runs.size());
}

double mean_slowdown(const std::vector<RunFigure>& runs) {
  double sum = 0;
  for (const RunFigure& run : runs) sum += slowdown(run.load);
  return sum / static_cast<double>(runs.size());
}

double squares_about_mean(const std::vector<RunFigure>& runs) {
  const double mean = mean_figure(runs);
  double sum = 0;
  for (const RunFigure& run : runs) sum += square(figure_of(run) - mean);
  return sum;
}

double freedom_of(const CaseRuns& one) {
  return static_cast<double>(one.base.size() + one.now.size()) - 2;
}

// The variance of the logarithm of one run's time, from the repeats of a case.
double variance_between_runs(const CaseRuns& one) {
  return (squares_about_mean(one.base) + squares_about_mean(one.now)) / freedom_of(one);
}

double usual_variance(const CaseRuns& one) {
  const double seconds = std::exp((mean_log(one.base) + mean_log(one.now)) / 2);
  return square(one.usual.share) + square(one.usual.seconds / seconds);
}

// The median of the variances between runs of the cases with repeats; 0 if there are none.
double typical_variance(const std::vector<CaseRuns>& cases) {
  std::vector<double> all;
  for (const CaseRuns& one : cases) {
    if (freedom_of(one) > 0) all.push_back(variance_between_runs(one));
  }
  if (all.empty()) return 0;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

double half_width_of_single_runs(const CaseRuns& one, double outside) {
  double variance = 2 * usual_variance(one);
  for (const RunFigure& run : {one.base.front(), one.now.front()}) {
    variance += square(run.deviation) + square(slowdown(run.load));
  }
  return student_quantile(outside, HUGE_VAL) * std::sqrt(variance);
}

// The variance of the mean logarithm of a side, from the runs' own intervals.
double variance_within_runs(const std::vector<RunFigure>& runs) {
  double sum = 0;
  for (const RunFigure& run : runs) sum += square(run.deviation);
  return sum / square(static_cast<double>(runs.size()));
}

double half_width_of_repeats(const CaseRuns& one, double typical, double outside) {
  const double freedom = freedom_of(one);
  const double usual = std::max(usual_variance(one), typical);
  const double variance =
      (kUsualWeight * usual + freedom * variance_between_runs(one)) / (kUsualWeight + freedom);
  const double between = variance * (1 / static_cast<double>(one.base.size()) +
                                     1 / static_cast<double>(one.now.size()));
  // One run on a side shows no noise between runs, but its own interval is a lower limit.
  const double within = variance_within_runs(one.base) + variance_within_runs(one.now);
  const double of_means = std::max(between, within);
  // The repeats contain the load that both sides had alike; only the difference is added.
  const double load = mean_slowdown(one.base) - mean_slowdown(one.now);
  return student_quantile(outside, kUsualWeight + freedom) * std::sqrt(of_means + square(load));
}

}  // namespace

UsualNoise usual_noise(const std::string& kind, bool virtual_time) {
  if (virtual_time) return {};
  if (kind == "cuda" || kind == "hip") return {0.01, 0.5e-6};
  return {0.03, 0.5e-6};
}

double deviation_of_median(const Summary& seconds) {
  constexpr double kLeast = 1e-3;  // share of the median; an interval may begin at 0
  constexpr double kQuantile = 1.96;
  if (seconds.n == 1) return 0;
  const double median = seconds.median;
  const double low = std::max(seconds.ci_low, kLeast * median);
  return std::max({0.0, std::log(median / low), std::log(seconds.ci_high / median)}) / kQuantile;
}

double slowdown(double load) { return -std::log1p(-std::clamp(load, 0.0, kMostLoad)); }

std::vector<Shift> shifts_of(const std::vector<CaseRuns>& cases) {
  const double outside = kOutside / static_cast<double>(std::max<std::size_t>(1, cases.size()));
  const double typical = typical_variance(cases);
  std::vector<Shift> shifts;
  for (const CaseRuns& one : cases) {
    const double half = freedom_of(one) > 0 ? half_width_of_repeats(one, typical, outside)
                                            : half_width_of_single_runs(one, outside);
    shifts.push_back({mean_figure(one.now) - mean_figure(one.base), half});
  }
  return shifts;
}

}  // namespace duet
