#pragma once

#include <string>
#include <vector>

#include "device/machine.h"
#include "results/host_load.h"
#include "results/record.h"

namespace duet {

struct EnvironmentOptions {
  std::vector<std::string> command;  // argv
  // Leaves out the object "run", which differs from run to run and from host to host. Equal runs on
  // a simulated machine then write equal bytes.
  bool reproducible = false;
  int processes = 1;                    // of the run, this process included
  std::vector<std::string> names;       // by machine, replacing their own names; empty: their own
  std::vector<std::string> hosts = {};  // names of the processes' hosts; of one process: empty
};

Environment make_environment(const std::vector<Machine*>& machines,
                             const EnvironmentOptions& options);

// The record that a run writes last: when it ended, and how busy the host was meanwhile. `load` was
// constructed when the run began. It is nullptr if the run has several processes on this host,
// whose CPU time LoadMeter would count as others'.
RunEnd make_end(const LoadMeter* load);

// A machine's devices with all their DeviceInfo, and the links between them.
MachineFacts facts_of(Machine& machine);

// The current time as "2026-11-21T02:00:00Z".
std::string time_utc();

// The arguments as one line, quoted so that bash reads the same arguments from it.
std::string quote_command(const std::vector<std::string>& arguments);

}  // namespace duet
