// Finding the fastest of many candidates in bounded time: heats over all, a semi-final in turns,
// and a final that runs long enough for a power-capped device to show its sustained order.
#pragma once

#include <optional>
#include <vector>

namespace duet {

// Runs candidates; they are known by number.
class RaceTrack {
 public:
  virtual ~RaceTrack() = default;
  // Seconds a call, over `calls` calls back to back; nullopt if the candidate cannot run.
  virtual std::optional<double> time(int candidate, int calls) = 0;
  virtual double now() = 0;  // seconds
};

struct RaceOptions {
  double semi_final_seconds = 0.8;
  double semi_final_burst_seconds = 0.01;  // one candidate's turn
  int semi_finalists = 16;
  double final_seconds = 2.0;
  double final_burst_seconds = 0.05;  // long enough for a capped device to settle its clock
  int finalists = 4;
};

class Race {
 public:
  Race(RaceTrack& track, const RaceOptions& options) : track_(track), options_(options) {}

  // Times the candidates first .. last - 1 briefly, in order, for about so long: what did not get
  // its turn is out.
  void heat(int first, int last, double seconds);

  // Those that ran, fastest first.
  std::vector<int> leaders(int count) const;

  // Short bursts in turns of the leaders, then long ones of the best of them; the smallest median
  // wins. -1 if none ran.
  int final();

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

  RaceTrack& track_;
  RaceOptions options_;
  std::vector<Time> times_;  // sorted, but for what did not compete with the first
};

}  // namespace duet
