// Order statistics and the bootstrap interval of the median.
#include "timing/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "core/error.h"
#include "core/random.h"

namespace duet {
namespace {

constexpr int kResamples = 1000;
constexpr std::uint64_t kBootstrapSeed = 20;

// Medians of resamples drawn with replacement; from indices, so that sorting is of small integers.
std::vector<double> resampled_medians(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  std::vector<double> medians;
  medians.reserve(kResamples);
  std::vector<std::uint32_t> drawn(n);
  std::uint64_t counter = 0;
  for (int r = 0; r < kResamples; ++r) {
    for (std::uint32_t& index : drawn) {
      index = static_cast<std::uint32_t>(random_word(kBootstrapSeed, counter++) % n);
    }
    const auto middle = drawn.begin() + static_cast<std::ptrdiff_t>(n / 2);
    std::nth_element(drawn.begin(), middle, drawn.end());
    double median = sorted[*middle];
    if (n % 2 == 0) median = (median + sorted[*std::max_element(drawn.begin(), middle)]) / 2;
    medians.push_back(median);
  }
  std::sort(medians.begin(), medians.end());
  return medians;
}

}  // namespace

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) throw BadArgument("quantile of no samples");
  const double position = q * static_cast<double>(sorted.size() - 1);
  const std::size_t below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return sorted[below] + fraction * (sorted[above] - sorted[below]);
}

Summary summarise(std::vector<double> samples) {
  Summary s;
  s.n = samples.size();
  if (samples.empty()) return s;
  std::sort(samples.begin(), samples.end());
  s.median = quantile(samples, 0.5);
  s.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(s.n);
  s.min = samples.front();
  s.max = samples.back();
  s.p5 = quantile(samples, 0.05);
  s.p95 = quantile(samples, 0.95);
  s.p99 = quantile(samples, 0.99);
  const std::vector<double> medians = resampled_medians(samples);
  s.ci_low = quantile(medians, 0.025);
  s.ci_high = quantile(medians, 0.975);
  return s;
}

}  // namespace duet
