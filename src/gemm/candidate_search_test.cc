// The candidate search with simulated times, and the search over shapes.
#include "gemm/candidate_search.h"

#include <gtest/gtest.h>

#include "gemm/search.h"

namespace duet {
namespace {

// Candidates with known times. Some run slower on a hot device, which shows only in long bursts.
class FakeTimer : public CandidateTimer {
 public:
  struct Entry {
    double brief = 0;
    double sustained = 0;
    bool runs = true;
  };

  explicit FakeTimer(std::vector<Entry> list) : entries(std::move(list)) {}

  std::optional<double> time(int candidate, int calls) override {
    const Entry& entry = entries.at(static_cast<std::size_t>(candidate));
    ++asked;
    if (!entry.runs) return std::nullopt;
    const double each = calls > 4 ? entry.sustained : entry.brief;
    clock += each * calls;
    return each;
  }
  double now() override { return clock; }

  std::vector<Entry> entries;
  double clock = 0;
  int asked = 0;
};

TEST(CandidateSearch, TheSustainedOrderDecides) {
  FakeTimer timer({{1.0e-3, 1.2e-3}, {1.1e-3, 1.1e-3}, {2.0e-3, 1.0e-3}});
  SearchRounds options;
  options.second_round_candidates = 2;
  CandidateSearch search(timer, options);
  search.first_round(0, 3, 1);
  EXPECT_EQ(search.leaders(3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(search.final_round(), 1);
}

// For a while after another candidate each runs at that one's clock.
class SettlingTimer : public CandidateTimer {
 public:
  std::optional<double> time(int candidate, int calls) override {
    double seconds = 0;
    for (int i = 0; i < calls; ++i) {
      if (candidate != last_) settled_ = 0;
      last_ = candidate;
      const double each = settled_ < 0.01 ? kUnsettled[candidate] : kSettled[candidate];
      settled_ += each;
      seconds += each;
    }
    clock_ += seconds;
    return seconds / calls;
  }
  double now() override { return clock_; }

 private:
  static constexpr double kUnsettled[] = {1.0e-3, 0.8e-3}, kSettled[] = {1.0e-3, 1.05e-3};

  int last_ = -1;
  double settled_ = 0, clock_ = 0;
};

TEST(CandidateSearch, ALongBurstIsTimedBehindItsFirstPart) {
  for (const bool settles : {true, false}) {
    SettlingTimer timer;
    SearchRounds options;
    options.final_round_burst_seconds = 0.04;
    if (!settles) options.final_round_settle_share = 0;
    CandidateSearch search(timer, options);
    search.first_round(0, 2, 1);
    EXPECT_EQ(search.final_round(), settles ? 0 : 1);
  }
}

TEST(CandidateSearch, TheFirstCandidateIsInTheFinalRound) {
  // In short bursts all others are faster, in long ones it is.
  FakeTimer timer(std::vector<FakeTimer::Entry>(40, {1.0e-3, 1.0e-3}));
  timer.entries[0] = {3.0e-3, 0.9e-3};
  SearchRounds options;
  options.second_round_burst_seconds = 0.002;
  CandidateSearch search(timer, options);
  search.first_round(0, 40, 1);
  EXPECT_EQ(search.final_round(), 0);
}

TEST(CandidateSearch, ThoseThatCannotRunAreOut) {
  FakeTimer timer({{1e-4, 1e-4, false}, {1e-3, 1e-3}, {1e-5, 1e-5, false}});
  CandidateSearch search(timer, {});
  search.first_round(0, 3, 1);
  EXPECT_EQ(search.ran(), 1);
  EXPECT_EQ(search.final_round(), 1);
}

TEST(CandidateSearch, WithoutRunnersNobodyWins) {
  FakeTimer timer({{1, 1, false}});
  CandidateSearch search(timer, {});
  search.first_round(0, 1, 1);
  EXPECT_EQ(search.final_round(), -1);
}

TEST(CandidateSearch, KeepsToItsTime) {
  FakeTimer timer(std::vector<FakeTimer::Entry>(1000, {0.01, 0.01}));
  SearchRounds options;
  options.second_round_seconds = 1;
  options.final_round_seconds = 2;
  CandidateSearch search(timer, options);
  search.first_round(0, 1000, 0.295);
  EXPECT_EQ(search.ran(), 15);  // two calls for each, because the calls are long
  search.first_round(0, 1000, 0);
  EXPECT_EQ(search.ran(), 15);
  search.final_round();
  EXPECT_LT(timer.clock, 0.3 + 0.03 + 1 + 15 * 0.01 + 2 + 5 * 0.05 + 1e-9);
}

TEST(Search, FindsThePeakOfARidge) {
  // The rate is highest at 8192 x 4096 x 16384 and falls with every factor of two from there.
  const auto distance = [](std::int64_t side, double best) {
    const double ratio = static_cast<double>(side) / best;
    return ratio > 1 ? ratio : 1 / ratio;
  };
  int asked = 0;
  const SearchResult result = search_shapes({}, [&](const GemmShape& s) {
    ++asked;
    return 1 / (distance(s.m, 8192) + distance(s.n, 4096) + distance(s.k, 16384));
  });
  EXPECT_EQ(result.shape.m, 8192);
  EXPECT_EQ(result.shape.n, 4096);
  EXPECT_EQ(result.shape.k, 16384);
  EXPECT_EQ(result.trials, asked);
  EXPECT_LE(asked, SearchLimits{}.trials);
}

TEST(Search, StopsGrowingWhereNothingRuns) {
  std::int64_t largest = 0;
  const SearchResult result = search_shapes({}, [&](const GemmShape& s) {
    largest = std::max({largest, s.m, s.n, s.k});
    return s.m * s.n * s.k > (1ll << 33) ? 0.0 : static_cast<double>(s.m * s.n * s.k);
  });
  EXPECT_GT(result.rate, 0);
  EXPECT_LE(result.shape.m * result.shape.n * result.shape.k, 1ll << 33);
  EXPECT_LE(largest, 8192);
}

TEST(Search, SaysWhenNothingRan) {
  const SearchResult result = search_shapes({}, [](const GemmShape&) { return 0.0; });
  EXPECT_EQ(result.rate, 0);
  EXPECT_EQ(result.trials, 1);
}

}  // namespace
}  // namespace duet
