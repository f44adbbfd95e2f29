// How busy the host is, and with what: what a figure of its CPU has to be read with.
#pragma once

#include <optional>
#include <string_view>

#include "results/record.h"

namespace duet {

// Since the host started, in seconds of all its hardware threads together.
struct HostTimes {
  double all = 0;
  double busy = 0;   // of all processes of this system
  double steal = 0;  // kept back by the hypervisor
  double own = 0;    // of this process
};

// nullopt where /proc does not say.
std::optional<HostTimes> host_times();

// The first line of /proc/stat, in `ticks` a second; `own` is left at 0.
std::optional<HostTimes> parse_host_times(std::string_view stat, double ticks);

struct LoadShare {  // of the CPU time of all hardware threads, 0 to 1
  double others = 0;
  double steal = 0;
};

// Between two readings; nullopt if they are too close for the clock's ticks.
std::optional<LoadShare> load_between(const HostTimes& begin, const HostTimes& end);

Record load_to_json(const LoadShare& load);

// {"average": processes that ran or waited, over the last minute}; empty where /proc does not say.
Record load_average_to_json();

// So much of the CPU in other hands is said with a run's figures.
bool is_high(const LoadShare& load);

// "others used 63% of the CPU, 2% was stolen".
std::string load_text(const LoadShare& load);

// From readings at its making until share() is called.
class LoadMeter {
 public:
  LoadMeter() : begin_(host_times()) {}
  std::optional<LoadShare> share() const;

 private:
  std::optional<HostTimes> begin_;
};

}  // namespace duet
