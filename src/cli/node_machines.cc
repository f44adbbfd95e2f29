#include "cli/node_machines.h"

#include <algorithm>
#include <utility>

namespace duet {

bool names_gpus(const std::string& name) {
  const std::size_t colon = std::min(name.find(':'), name.size());
  const std::string kind = name.substr(0, colon);
  return (kind == "cuda" || kind == "hip") &&
         name.find_first_not_of("0123456789,", std::min(colon + 1, name.size())) == name.npos;
}

std::vector<std::unique_ptr<Machine>> open_gpus_or_host() {
  std::vector<std::unique_ptr<Machine>> machines;
  std::unique_ptr<Machine> host;
  for (BackendState& state : backends()) {
    if (state.machine == nullptr) continue;
    const DeviceInfo& device = state.machine->device(0).info();
    if (device.is_gpu()) {
      machines.push_back(std::move(state.machine));
    } else if (device.is_cpu) {
      host = std::move(state.machine);
    }
  }
  if (machines.empty()) machines.push_back(std::move(host));
  return machines;
}

}  // namespace duet
