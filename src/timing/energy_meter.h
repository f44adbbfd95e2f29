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
#include "timing/counter_trace.h"

namespace duet {

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

}  // namespace duet
