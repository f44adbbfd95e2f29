// Heats and final.
#include "gemm/race.h"

#include <algorithm>
#include <cmath>

namespace duet {
namespace {

constexpr int kHeatCalls = 2;
constexpr double kLongCall = 5e-3;  // seconds from which one call is enough
constexpr int kFewestRounds = 3;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void Race::heat(int first, int last, double seconds) {
  const double end = track_.now() + seconds;
  for (int candidate = first; candidate < last && track_.now() < end; ++candidate) {
    // The first call loads the kernel.
    const auto loading = track_.time(candidate, 1);
    if (!loading) continue;
    if (const auto each = track_.time(candidate, *loading > kLongCall ? 1 : kHeatCalls)) {
      times_.push_back({candidate, *each});
    }
  }
  std::stable_sort(times_.begin(), times_.end(),
                   [](const Time& a, const Time& b) { return a.seconds < b.seconds; });
}

std::vector<int> Race::leaders(int count) const {
  std::vector<int> candidates;
  for (const Time& time : times_) {
    if (static_cast<int>(candidates.size()) == count) break;
    candidates.push_back(time.candidate);
  }
  return candidates;
}

int Race::final() {
  const std::size_t count =
      std::min(times_.size(), static_cast<std::size_t>(std::max(1, options_.finalists)));
  std::vector<std::vector<double>> bursts(count);
  const double begin = track_.now();
  for (int round = 0; round < kFewestRounds || track_.now() - begin < options_.final_seconds;
       ++round) {
    if (count < 2) break;
    for (std::size_t i = 0; i < count; ++i) {
      const Time& entry = times_[i];
      const int calls =
          std::max(1, static_cast<int>(std::ceil(options_.burst_seconds / entry.seconds)));
      const auto seconds = track_.time(entry.candidate, calls);
      // The first round brings the device to its working temperature and clock.
      if (round > 0) bursts[i].push_back(seconds.value_or(HUGE_VAL));
    }
  }
  if (count == 0) return -1;
  std::size_t best = 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (median(bursts[i]) < median(bursts[best])) best = i;
  }
  return times_[best].candidate;
}

}  // namespace duet
