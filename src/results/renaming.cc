#include "results/renaming.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "results/journal_machines.h"

namespace duet {
namespace {

// Throws UsageError if the journal names no machine, or two machines have the same name.
std::vector<JournalMachine> machines_of(const JournalContents& journal) {
  const auto machines = machines_by_name(journal.name, journal.runs);
  if (machines.empty()) {
    throw UsageError(
        fmt::format("{}: no environment that names a machine: expected a journal, as --json writes",
                    journal.name));
  }
  return machines;
}

std::string renamed(const std::map<std::string, std::string>& names, const std::string& name) {
  const auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

}  // namespace

Renaming Renaming::same_devices(const JournalContents& base, const JournalContents& now) {
  const auto base_machines = machines_of(base);
  const auto now_machines = machines_of(now);
  bool common = false;
  bool same = true;
  for (const JournalMachine& machine : now_machines) {
    for (const JournalMachine& candidate : base_machines) {
      if (candidate.name != machine.name) continue;
      common = true;
      same = same && candidate == machine;
    }
  }
  if (common && same) return {};
  throw UsageError(
      fmt::format("{} is of {}, {} of {}: expected the same devices; --across-devices compares "
                  "them all the same",
                  base.name, machines_text(base_machines), now.name, machines_text(now_machines)));
}

Renaming Renaming::by_place(const JournalContents& base, const JournalContents& now) {
  const auto to = machines_of(base);
  const auto from = machines_of(now);
  if (to.size() != from.size()) {
    throw UsageError(
        fmt::format("--across-devices matches machines by their order: {} is of {}, {} of {}: "
                    "expected equally many",
                    base.name, machines_text(to), now.name, machines_text(from)));
  }
  Renaming renaming;
  for (std::size_t i = 0; i < from.size(); ++i) {
    renaming.machines_[from[i].name] = to[i].name;
    for (std::size_t place = 0; place < from[i].devices.size(); ++place) {
      const std::string& device = from[i].devices[place];
      const bool there = place < to[i].devices.size();
      renaming.devices_[device] = there ? to[i].devices[place] : device + " of NEW";
    }
  }
  return renaming;
}

CaseId Renaming::operator()(CaseId id) const {
  // A machine with one device may have the name of its device.
  const bool machine = machines_.count(id.device) > 0;
  id.device = renamed(machine ? machines_ : devices_, id.device);
  for (const char* end : {"source", "destination"}) {
    if (const auto device = id.axes.text(end)) id.axes.set(end, renamed(devices_, *device));
  }
  return id;
}

}  // namespace duet
