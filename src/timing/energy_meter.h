// What devices draw while something runs on them, by their energy counters.
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

struct EnergyCounter {
  std::string device;
  std::function<std::optional<double>()> joules;  // since some start; nullopt: it cannot be read
};

// Those of the ranks' devices, which must outlive them. Throws Unavailable naming a device that has
// none.
std::vector<EnergyCounter> energy_counters(Team& team);

// Reads all counters every few milliseconds from its making on, on a thread of its own.
class EnergyMeter {
 public:
  explicit EnergyMeter(std::vector<EnergyCounter> counters);
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  // Of the device of which least is known. All throw Error where a counter could not be read.
  double covered() const;     // seconds between two changes of the counter
  double resolution() const;  // as CounterTrace has it
  std::string slowest() const;
  // Of all devices together. Throws BadArgument while covered() is 0.
  double watts() const;

 private:
  void read();
  std::size_t least() const;

  std::vector<EnergyCounter> counters_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<CounterTrace> traces_;
  std::string lost_;  // the device whose counter could not be read

  std::atomic<bool> stop_{false};
  std::thread reader_;  // last: uses all of the above
};

}  // namespace duet
