// --device of one process among several; see own_machines.h.
#include "cli/own_machines.h"

#include <fmt/format.h>

#include "team/agreement.h"

namespace duet {
namespace {

std::string own_device(const std::string& device, const Processes& processes) {
  const bool all_gpus = device == "cuda" || device == "hip";
  if (!all_gpus || processes.size() == 1 || !processes.local_index()) return device;
  return fmt::format("{}:{}", device, *processes.local_index());
}

}  // namespace

void open_own_machines(Plan& plan, const std::vector<std::string>& devices, Processes& processes) {
  plan.processes = &processes;
  run_together(processes, [&] {
    for (const std::string& device : devices) {
      const std::string own = own_device(device, processes);
      plan.machines.push_back(open_machine(own));
      plan.names.push_back(own == device ? plan.machines.back()->name() : device);
    }
  });
}

}  // namespace duet
