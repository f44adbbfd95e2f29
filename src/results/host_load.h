// How busy other programs keep the host's CPU: a benchmark of the CPU depends on it.
#pragma once

#include <optional>
#include <string_view>

#include "results/record.h"

namespace duet {

// CPU time since the host started, in seconds, summed over all hardware threads.
struct HostTimes {
  double all = 0;
  double busy = 0;   // used by all processes of this system
  double steal = 0;  // given to other virtual machines by the hypervisor
  double own = 0;    // used by this process
};

// nullopt if /proc/stat cannot be read.
std::optional<HostTimes> host_times();

// Parses the first line of /proc/stat, which counts `ticks` per second. Leaves `own` at 0. nullopt
// if the line has another form.
std::optional<HostTimes> parse_host_times(std::string_view stat, double ticks);

// Shares of the CPU time of all hardware threads, 0 to 1.
struct LoadShare {
  double others = 0;  // used by processes other than this one
  double steal = 0;   // given to other virtual machines
};

// The shares between two readings; nullopt if the readings are too close for the clock's ticks.
std::optional<LoadShare> load_between(const HostTimes& begin, const HostTimes& end);

// The shares as journals have them.
HostLoad host_load(const LoadShare& load);

// The host's load average; nothing if /proc/loadavg cannot be read.
HostLoad load_average();

// Is the load high enough for a warning with a run's figures?
bool is_high(const LoadShare& load);

// "others used 63% of the CPU, 2% was stolen".
std::string load_text(const LoadShare& load);

// The load while a result was measured, if it is high and the result is of a CPU: its figures are
// in doubt.
std::optional<LoadShare> busy_with(const Record& record);

// The load from construction until share() is called.
class LoadMeter {
 public:
  LoadMeter() : begin_(host_times()) {}
  std::optional<LoadShare> share() const;

 private:
  std::optional<HostTimes> begin_;
};

}  // namespace duet
