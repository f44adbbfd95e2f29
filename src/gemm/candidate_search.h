// Finds the fastest of many candidates in bounded time, in three rounds:
//   first   every candidate once, briefly
//   second  short bursts of the leaders, alternating
//   final   long bursts of the best of these, and of candidate 0, the one that would be taken
//   without
//           a search. Of a burst the first part is not timed, so that a power-capped device shows
//           its sustained order: the clock that a candidate's power leaves, not the one before
//           it's.
#pragma once

#include <optional>
#include <vector>

namespace duet {

// Runs candidates, which are identified by number.
class CandidateTimer {
 public:
  virtual ~CandidateTimer() = default;
  // Seconds per call, over `calls` calls back to back; nullopt if the candidate cannot run.
  virtual std::optional<double> time(int candidate, int calls) = 0;
  virtual double now() = 0;  // seconds
};

// For each round: its total time, the time of one candidate's burst, and how many candidates take
// part.
struct SearchRounds {
  double second_round_seconds = 0.8;
  double second_round_burst_seconds = 0.01;  // of one candidate, before the next one runs
  int second_round_candidates = 16;
  double final_round_seconds = 2.0;
  double final_round_burst_seconds = 0.05;
  double final_round_settle_share = 0.3;  // of a burst, untimed
  int final_round_candidates = 4;         // without candidate 0
};

class CandidateSearch {
 public:
  CandidateSearch(CandidateTimer& timer, const SearchRounds& options)
      : timer_(timer), options_(options) {}

  // Times the candidates first .. last - 1 briefly, in order, for about `seconds`. Candidates that
  // were not reached by then are dropped.
  void first_round(int first, int last, double seconds);

  // The `count` fastest candidates so far, fastest first; fewer if fewer ran.
  std::vector<int> leaders(int count) const;

  // Runs the second round and the final round. Returns the candidate with the smallest median, or
  // -1 if none ran.
  int final_round();

  int ran() const { return static_cast<int>(times_.size()); }  // how many candidates ran

 private:
  struct Time {
    int candidate;
    double seconds;
  };

  struct Rounds {
    double seconds;
    double burst_seconds;
    double settle_share = 0;
  };
  // Times the first `count` alternately, several times each, and sorts them by their medians.
  void compete(int count, const Rounds& rounds);
  void sort(int count);  // sorts the first `count` by their times
  // Moves candidate 0, if it ran, to place `place` or leaves it before. Returns how many candidates
  // are then up to it.
  int include_first_candidate(int place);

  CandidateTimer& timer_;
  SearchRounds options_;
  std::vector<Time> times_;  // fastest first, within the candidates of the last round
};

}  // namespace duet
