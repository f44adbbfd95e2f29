// One process of a run, for ranks.sh: team_ranks SCENARIO [--device DEVICE]. The exit code is 0 if
// every check holds, 2 for bad usage, else 1 with the error.
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "scenarios.h"

namespace {

int run(const std::string& scenario, const std::string& device) {
  using namespace duet::multiprocess;
  static const std::map<std::string, void (*)(duet::Team&)> scenarios{
      {"barriers", barriers},
      {"fail", fail},
      {"sample", sample},
      {"memory", memory},
      {"semaphore", wait_at_semaphore},
      {"barrier", wait_at_barrier}};
  const auto found = scenarios.find(scenario);
  if (found == scenarios.end()) throw duet::UsageError("unknown scenario '" + scenario + "'");
  const auto processes = duet::Processes::find(kConnectSeconds);
  const auto machine = duet::open_machine(device);
  std::vector<int> devices;
  // A process that drives one of several GPUs opens its own.
  if (machine->size() > 1 && device.rfind("host", 0) != 0 && processes->local_index()) {
    devices = {*processes->local_index() % machine->size()};
  }
  duet::Team team(*machine, devices, processes.get());
  found->second(team);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const bool with_device = count == 4 && std::strcmp(arguments[2], "--device") == 0;
    if (count != 2 && !with_device) {
      throw duet::UsageError("usage: team_ranks SCENARIO [--device DEVICE]");
    }
    return run(arguments[1], with_device ? arguments[3] : "host");
  } catch (const duet::UsageError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
