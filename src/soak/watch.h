// What drivers tell of a machine's devices while a soak runs: sensors, counters of errors, XIDs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device/device_health.h"
#include "device/machine.h"
#include "soak/finding.h"
#include "soak/injection.h"

namespace duet {

// A counter of DeviceHealth.
struct SoakCounter {
  const char* name;  // "pcie_replays"
  const char* words;
  std::optional<std::uint64_t> DeviceHealth::*value;
};
const std::vector<SoakCounter>& soak_counters();

// By how much a counter of a device may grow over the run without being a finding, by its name.
using SoakAllowances = std::map<std::string, std::uint64_t>;
// "corrected_errors=10,pcie_replays=2". Throws UsageError that lists the counters.
SoakAllowances parse_soak_allowances(const std::string& list);

struct WatchedDevice {
  std::vector<Telemetry> readings;  // of the round
  // By how much counters have grown since the run began; those that the driver tells.
  std::map<std::string, std::uint64_t> grown;
};

class SoakWatch {
 public:
  SoakWatch(Machine& machine, const SoakAllowances& allowed, const Injections& injections);

  // Reads the sensors if `period` seconds have passed since the last reading. One thread at a time.
  void sample(double period);
  // What grew or was reported in the round, beyond what is allowed. Each growth is told once.
  std::vector<SoakFinding> end_round(int round);
  // Of the round that ended last; by device.
  const std::vector<WatchedDevice>& devices() const { return devices_; }

 private:
  struct State {
    DeviceHealth first;
    std::map<std::string, std::uint64_t> told;      // growth
    std::map<std::string, std::uint64_t> injected;  // growth that is planted
    std::vector<Telemetry> readings;
  };
  void read_sensors();
  void add_counters(int index, std::vector<SoakFinding>& findings);
  void add_xids(int index, int round, std::vector<SoakFinding>& findings);

  Machine& machine_;
  SoakAllowances allowed_;
  const Injections& injections_;
  std::vector<State> states_;
  std::vector<WatchedDevice> devices_;
  double last_ = 0;
};

}  // namespace duet
