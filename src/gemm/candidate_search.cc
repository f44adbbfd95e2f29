#include "gemm/candidate_search.h"

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

void CandidateSearch::first_round(int first, int last, double seconds) {
  const double end = timer_.now() + seconds;
  for (int candidate = first; candidate < last && timer_.now() < end; ++candidate) {
    // The first call loads the kernel.
    const auto loading = timer_.time(candidate, 1);
    if (!loading) continue;
    if (const auto each = timer_.time(candidate, *loading > kLongCall ? 1 : kHeatCalls)) {
      times_.push_back({candidate, *each});
    }
  }
  sort(ran());
}

std::vector<int> CandidateSearch::leaders(int count) const {
  std::vector<int> candidates;
  for (const Time& time : times_) {
    if (static_cast<int>(candidates.size()) == count) break;
    candidates.push_back(time.candidate);
  }
  return candidates;
}

void CandidateSearch::compete(int count, const Rounds& rounds) {
  const std::size_t entries = std::min(times_.size(), static_cast<std::size_t>(count));
  if (entries < 2) return;
  std::vector<std::vector<double>> bursts(entries);
  const double end = timer_.now() + rounds.seconds;
  for (int round = 0; round < kFewestRounds || timer_.now() < end; ++round) {
    for (std::size_t i = 0; i < entries; ++i) {
      const double calls = std::ceil(rounds.burst_seconds / times_[i].seconds);
      const int settling = static_cast<int>(calls * rounds.settle_share);
      if (settling > 0) timer_.time(times_[i].candidate, settling);
      const auto seconds =
          timer_.time(times_[i].candidate, std::max(1, static_cast<int>(calls) - settling));
      // The first round brings the device to its working temperature and clock.
      if (round > 0) bursts[i].push_back(seconds.value_or(HUGE_VAL));
    }
  }
  for (std::size_t i = 0; i < entries; ++i) times_[i].seconds = median(bursts[i]);
  sort(static_cast<int>(entries));
}

int CandidateSearch::final_round() {
  if (times_.empty()) return -1;
  compete(options_.second_round_candidates,
          {options_.second_round_seconds, options_.second_round_burst_seconds});
  const int leaders = std::min(options_.final_round_candidates, options_.second_round_candidates);
  compete(include_first_candidate(leaders),
          {options_.final_round_seconds, options_.final_round_burst_seconds,
           options_.final_round_settle_share});
  return times_.front().candidate;
}

int CandidateSearch::include_first_candidate(int place) {
  const auto first = std::find_if(times_.begin(), times_.end(),
                                  [](const Time& time) { return time.candidate == 0; });
  if (first == times_.end() || first - times_.begin() < place) return place;
  std::rotate(times_.begin() + place, first, first + 1);
  return place + 1;
}

void CandidateSearch::sort(int count) {
  const auto end =
      times_.begin() + std::min<std::ptrdiff_t>(count, std::distance(times_.begin(), times_.end()));
  std::stable_sort(times_.begin(), end,
                   [](const Time& a, const Time& b) { return a.seconds < b.seconds; });
}

}  // namespace duet
