// The power that devices draw while work runs on them, from their energy counters.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "team/team.h"

namespace duet {

// The readings of one energy counter. A counter is read far more often than it changes; only the
// first and the last change that were seen are kept.
class CounterTrace {
 public:
  // Adds a reading, later than all before: the counter was at `joules` at some time from `begin` to
  // `end`, in seconds of one clock.
  void add(double begin, double end, double joules);

  // Seconds from the first change to the last; 0 until there are two.
  double covered() const;
  // The mean power between the first change and the last. Throws BadArgument until there are two.
  double watts() const;
  // Relative error of watts(), because a change is seen only at the next reading; 1 until there are
  // two changes.
  double resolution() const;

 private:
  struct Change {
    double seconds = 0, joules = 0;
    double late = 0;  // the most by which the change was seen late, in seconds
  };

  std::optional<Change> first_, last_;
  bool read_ = false;
  double begin_ = 0, joules_ = 0;  // of the last reading
};

// The energy counter of one device.
struct EnergyCounter {
  std::string device;
  // Joules since an arbitrary start; nullopt if the counter cannot be read.
  std::function<std::optional<double>()> joules;
};

// The counters of the local ranks' devices, which must outlive the result. Throws Unavailable,
// which names the device, if one has no counter.
std::vector<EnergyCounter> energy_counters(Team& team);

// Reads all counters every few milliseconds, on a thread of its own, from construction to
// destruction.
class EnergyMeter {
 public:
  explicit EnergyMeter(std::vector<EnergyCounter> counters);
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  // All of these throw Error if a counter could not be read.
  double covered() const;       // the smallest CounterTrace::covered() of all devices, in seconds
  double resolution() const;    // the largest CounterTrace::resolution() of all devices
  std::string slowest() const;  // the name of the device with the smallest covered()
  double watts() const;         // of all devices together; throws BadArgument while covered() is 0

 private:
  void read();
  std::size_t least() const;

  std::vector<EnergyCounter> counters_;
  mutable std::mutex mutex_;  // guards traces_ and lost_
  std::vector<CounterTrace> traces_;
  std::string lost_;  // the device whose counter could not be read

  std::atomic<bool> stop_{false};
  std::thread reader_;  // the last member, because the thread uses all others
};

// The energy counters of a team's devices.
struct EnergySource {
  std::vector<EnergyCounter> counters;
  double watts_limit = 0;   // sum of all devices' power caps; 0: not known
  std::string unavailable;  // the reason why energy cannot be measured; "" if it can
};

// The devices must outlive the result.
EnergySource energy_source(Team& team);

}  // namespace duet
