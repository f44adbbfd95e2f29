// The record of where and with what a run measured, written once a run before its results.
#pragma once

#include <string>
#include <vector>

#include "device/machine.h"
#include "results/host_load.h"
#include "results/record.h"

namespace duet {

struct EnvironmentOptions {
  std::vector<std::string> command;  // argv
  // Leaves out what differs from run to run and from host to host (the object "run"), so that
  // equal runs on a simulated machine write equal bytes.
  bool reproducible = false;
  int processes = 1;               // of the run; this is one of them
  std::vector<std::string> names;  // of the machines, where they are not their own
};

Record make_environment(const std::vector<Machine*>& machines, const EnvironmentOptions& options);

// The record that a run writes last: when, and how busy the host was meanwhile. `load` was made
// when the run began; nullptr where its other processes would count as others.
Record make_end(const LoadMeter* load);

// One machine: its devices with all that they say of themselves, and the links between them.
Record machine_to_json(Machine& machine);

// The host, as in the environment and in `duet info --json`.
Record host_to_json();

// Now, as "2026-11-21T02:00:00Z".
std::string time_utc();

// The command line as a shell takes it.
std::string quote_command(const std::vector<std::string>& arguments);

}  // namespace duet
