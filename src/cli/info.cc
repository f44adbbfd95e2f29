// `duet info`: lists what can be measured on this host, and why the rest cannot.
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/info_text.h"
#include "core/error.h"
#include "device/sim/platform.h"
#include "results/environment.h"
#include "results/host_facts.h"
#include "results/libraries.h"
#include "results/record_json.h"
#include "results/version.h"
#include "workload/workload.h"

namespace duet {
namespace {

Json backends_to_json(const std::vector<BackendState>& states) {
  Json out = Json::array();
  for (const BackendState& state : states) {
    out.push_back({{"kind", state.kind},
                   {"available", state.available},
                   {"description", state.description},
                   {"reason", state.reason}});
  }
  return out;
}

Json libraries_to_json(const std::vector<LibraryState>& states) {
  Json out = Json::array();
  for (const LibraryState& state : states) {
    out.push_back({{"name", state.name},
                   {"purpose", state.purpose},
                   {"found", state.found},
                   {"version", state.version},
                   {"reason", state.reason}});
  }
  return out;
}

Json fabric_to_json(const FabricOverview& fabric) {
  Json out = {{"library", fabric.library}, {"reason", fabric.reason}};
  out["rails"] = Json::array();
  for (const auto& provider : fabric.providers) {
    for (const RailInfo& rail : provider.rails) {
      out["rails"].push_back({{"provider", provider.name},
                              {"name", rail.name},
                              {"address", rail.address},
                              {"gbit_per_s", rail.gbit_per_s},
                              {"numa_node", rail.numa_node}});
    }
  }
  return out;
}

class InfoCommand : public Command {
 public:
  explicit InfoCommand(CLI::App& root)
      : Command(root.add_subcommand(
            "info", "Show devices, links, libraries, and what is missing and why")) {
    add_device_flags(*app_, devices_, "all that can be opened");
    app_->add_flag("--json", json_, "Print one JSON object instead of text");
  }

  int run(const std::vector<std::string>&) override {
    std::vector<BackendState> states = backends();
    const auto machines = chosen(states);
    const std::vector<LibraryState> found = libraries(LibrarySearch::load);
    const FabricOverview fabric = fabric_overview();
    if (json_) {
      Json out = {{"duet", version()}, {"revision", revision()}, {"host", to_json(host_facts())}};
      out["backends"] = backends_to_json(states);
      out["simulated"] = sim::platform_names();
      out["machines"] = Json::array();
      for (const auto& machine : machines) out["machines"].push_back(to_json(facts_of(*machine)));
      out["fabric"] = fabric_to_json(fabric);
      out["libraries"] = libraries_to_json(found);
      std::cout << out.dump(2) << '\n';
      return 0;
    }
    std::cout << fmt::format("duet {} ({})\n\n", version(), revision()) << host_text() << '\n'
              << backends_text(states);
    for (const auto& machine : machines) {
      std::cout << '\n' << machine_text(*machine);
      for (const Workload* workload : workloads()) {
        if (workload->info != nullptr) std::cout << workload->info(*machine);
      }
    }
    std::cout << '\n' << fabric_text(fabric) << '\n' << libraries_text(found);
    return 0;
  }

 private:
  // The devices asked for, or else every kind of device that opens without a number.
  std::vector<std::unique_ptr<Machine>> chosen(std::vector<BackendState>& states) const {
    if (!devices_.devices.empty()) return open_machines(device_names(devices_));
    std::vector<std::unique_ptr<Machine>> machines;
    for (BackendState& state : states) {
      if (state.machine != nullptr) machines.push_back(std::move(state.machine));
    }
    return machines;
  }

  DeviceFlags devices_;
  bool json_ = false;
};

}  // namespace

DUET_DEFINE_COMMAND(info, InfoCommand)

}  // namespace duet
