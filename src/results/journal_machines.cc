#include "results/journal_machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.h"

namespace duet {
namespace {

JournalMachine machine_of(const MachineFacts& facts) {
  JournalMachine machine;
  machine.name = facts.name;
  for (const DeviceInfo& device : facts.devices) {
    machine.devices.push_back(device.name);
    machine.models.push_back(device.model);
  }
  return machine;
}

}  // namespace

std::vector<JournalMachine> machines_in(const std::vector<JournalRun>& runs) {
  std::vector<JournalMachine> machines;
  for (const JournalRun& run : runs) {
    for (const MachineFacts& facts : run.environment.machines) {
      const JournalMachine machine = machine_of(facts);
      if (std::find(machines.begin(), machines.end(), machine) == machines.end()) {
        machines.push_back(machine);
      }
    }
  }
  return machines;
}

std::vector<JournalMachine> machines_by_name(const std::string& journal,
                                             const std::vector<JournalRun>& runs) {
  const std::vector<JournalMachine> machines = machines_in(runs);
  std::map<std::string, const JournalMachine*> known;
  for (const JournalMachine& machine : machines) {
    const auto [before, fresh] = known.emplace(machine.name, &machine);
    if (fresh) continue;
    throw UsageError(fmt::format("{}: holds runs on {} and on {}: expected one machine of a name",
                                 journal, device_text(*before->second), device_text(machine)));
  }
  return machines;
}

std::string machines_text(const std::vector<JournalMachine>& machines) {
  std::string text;
  for (const auto& machine : machines) text += (text.empty() ? "" : ", ") + machine_text(machine);
  return text;
}

std::string machine_text(const JournalMachine& machine) {
  std::map<std::string, int> counts;
  for (const std::string& model : machine.models) ++counts[model];
  std::string text;
  for (const auto& [model, count] : counts) {
    text += (text.empty() ? "" : ", ") + fmt::format("{} x {}", count, model);
  }
  return text.empty() ? machine.name : fmt::format("{} ({})", machine.name, text);
}

std::string device_text(const JournalMachine& machine) {
  std::string text;
  for (std::size_t i = 0; i < machine.devices.size(); ++i) {
    text += (text.empty() ? "" : ", ") + machine.devices[i] + " = " + machine.models[i];
  }
  return text;
}

}  // namespace duet
