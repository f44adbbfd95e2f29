// Finding the fastest of many candidates in bounded time: heats over all, a semi-final in turns,
// and a final that runs long enough for a power-capped device to show its sustained order.
#pragma once

#include <optional>
#include <vector>

namespace duet {

// Runs candidates; they are known by number.
class CandidateTimer {
 public:
  virtual ~CandidateTimer() = default;
  // Seconds a call, over `calls` calls back to back; nullopt if the candidate cannot run.
  virtual std::optional<double> time(int candidate, int calls) = 0;
  virtual double now() = 0;  // seconds
};

struct SearchRounds {
  double second_round_seconds = 0.8;
  double second_round_burst_seconds = 0.01;  // one candidate's turn
  int second_round_candidates = 16;
  double final_round_seconds = 2.0;
  double final_round_burst_seconds = 0.05;  // long enough for a capped device to settle its clock
  int final_round_candidates = 4;
};

class CandidateSearch {
 public:
  CandidateSearch(CandidateTimer& track, const SearchRounds& options)
      : track_(track), options_(options) {}

  // Times the candidates first .. last - 1 briefly, in order, for about so long: what did not get
  // its turn is out.
  void first_round(int first, int last, double seconds);

  // Those that ran, fastest first.
  std::vector<int> leaders(int count) const;

  // Short bursts in turns of the leaders, then long ones of the best of them; the smallest median
  // wins. -1 if none ran.
  int final_round();

  int ran() const { return static_cast<int>(times_.size()); }

 private:
  struct Time {
    int candidate;
    double seconds;
  };

  struct Rounds {
    double seconds;
    double burst_seconds;
  };
  // The first `count` in turns, several rounds; sorts them by their medians.
  void compete(int count, const Rounds& rounds);
  void sort(int count);  // the first `count` by their times

  CandidateTimer& track_;
  SearchRounds options_;
  std::vector<Time> times_;  // sorted, but for what did not compete with the first
};

}  // namespace duet
