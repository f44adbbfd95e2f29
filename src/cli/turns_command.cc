#include "cli/turns_command.h"

#include <fmt/format.h>

#include "cli/as_one.h"
#include "cli/interrupt.h"
#include "cli/lists.h"
#include "cli/measure.h"
#include "core/error.h"
#include "team/processes.h"

namespace duet {
namespace {

constexpr int kMostCallsOfGraph = 1000;

}  // namespace

void TurnsCommand::add_machine_flags() {
  add_device_flags(*app_, devices_, "host:2; with several processes, one host device each");
}

void TurnsCommand::add_call_flags() {
  app_->add_option("--tuning-seconds", tuning_seconds_, "Approximate time to tune one problem")
      ->type_name("S")
      ->check(seconds_above_0("--tuning-seconds"))
      ->capture_default_str();
  add("-G,--cudagraph", graph_, "COUNT",
      "Capture calls as a graph, and launch it so often for a sample; 0, the default: do not "
      "capture");
  add("--graph-calls", graph_calls_, "COUNT", "-G: how many calls are in the graph; default 1");
}

void TurnsCommand::add_run_flags() {
  add_network_flags(*app_, network_);
  add_mode_flags(*app_, mode_);
  add_output_flags(*app_, output_);
}

std::pair<int, int> TurnsCommand::graph() const {
  const int launches = graph_.empty() ? 0 : parse_number(graph_, 0, "-G");
  if (launches == 0)
    refuse_given({{"--graph-calls", !graph_calls_.empty()}}, "expected -G as well");
  const int calls =
      graph_calls_.empty() ? 1 : parse_number(graph_calls_, 1, "--graph-calls", kMostCallsOfGraph);
  return {launches, calls};
}

Mode TurnsCommand::turns_mode() const {
  if (!mode_.mode.empty() && mode_.mode != "adaptive") {
    throw UsageError(fmt::format(
        "--mode {}: expected adaptive: layers are measured by turns with their GEMMs", mode_.mode));
  }
  return mode_of(mode_);
}

int TurnsCommand::measure_by_turns(const std::vector<std::string>& line,
                                   const ReadFlags& read) const {
  const auto processes = Processes::find();
  return as_one(*processes, [&] {
    const bool several = processes->size() > 1;
    const BenchmarksOf benchmarks = read(several ? processes.get() : nullptr);
    std::vector<std::string> devices = device_names(devices_);
    if (devices.empty()) devices = {several ? "host" : "host:2"};
    RunPlan plan;
    open_own_machines(plan, devices, *processes);
    for (std::size_t i = 0; i < plan.machines.size(); ++i) {
      Machine& machine = *plan.machines[i];
      for (Benchmark& each : benchmarks(machine, plan.names[i]))
        add_job(plan, machine, std::move(each), plan.names[i]);
    }
    return measure(plan, output_, line);
  });
}

}  // namespace duet
