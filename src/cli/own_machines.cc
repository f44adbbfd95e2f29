#include "cli/own_machines.h"

#include "team/agreement.h"
#include "team/processes.h"

namespace duet {

void open_own_machines(RunPlan& plan, const std::vector<std::string>& devices,
                       Processes& processes) {
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
