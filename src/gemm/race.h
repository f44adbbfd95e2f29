// Finding the fastest of many candidates in bounded time: heats over all, a final among the best
// that runs long enough for a power-capped device to show its sustained order.
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
  double heat_seconds = 1.5;  // for all heats together; what did not get its turn is out
  double final_seconds = 2.5;
  double burst_seconds = 0.08;  // one candidate's turn in the final
  int finalists = 8;
};

class Race {
 public:
  Race(RaceTrack& track, const RaceOptions& options) : track_(track), options_(options) {}

  // Times the candidates first .. last - 1 briefly, in order, for about so long: what did not get
  // its turn is out.
  void heat(int first, int last, double seconds);

  // Those that ran, fastest first.
  std::vector<int> leaders(int count) const;

  // Interleaved bursts of the leaders; the one with the smallest median wins. -1 if none ran.
  int final();

  int ran() const { return static_cast<int>(times_.size()); }

 private:
  struct Time {
    int candidate;
    double seconds;
  };

  RaceTrack& track_;
  RaceOptions options_;
  std::vector<Time> times_;  // sorted
};

}  // namespace duet
