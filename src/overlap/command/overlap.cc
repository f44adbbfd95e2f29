#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include "cli/as_one.h"
#include "cli/command.h"
#include "cli/flag_values.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/lists.h"
#include "cli/measure.h"
#include "cli/network_flags.h"
#include "core/error.h"
#include "core/units.h"
#include "overlap/cases.h"
#include "overlap/command/advice.h"
#include "overlap/engines.h"
#include "overlap/isolated/cases.h"
#include "overlap/scenario.h"

namespace duet {
namespace {

// For CPUs, of which the paper's scenarios would take hours.
constexpr const char* kCpuCompute = "gemm:512x512x512:fp32";
constexpr const char* kCpuCommunicate = "all_gather:4M";

class OverlapCommand : public Command {
 public:
  explicit OverlapCommand(CLI::App& root)
      : Command(root.add_subcommand("overlap",
                                    "Measure a GEMM and a collective, or other works, at the same "
                                    "time, under each policy")) {
    app_->add_option("scenarios", scenarios_,
                     "Sets of scenarios: paper, training, nano, memory or all, or a TOML file; "
                     "default paper; on CPUs one small pair, gemm:512x512x512:fp32 beside "
                     "all_gather:4M")
        ->type_name("LIST")
        ->check(not_empty());
    add_device_flags(*app_, devices_, "host:2; with several processes, one host device each");
    add("--compute", compute_, "WORK",
        "With --communicate, one scenario: gemm:MxNxK or gemm:MxNxK:DTYPE, a collective as "
        "all_gather:896M, or copy:KIND:BYTES[:EXECUTOR] by every device at once");
    add("--communicate", communicate_, "WORK",
        "The work that runs at the same time: all_gather:896M, or another of these");
    add("--also", copy_, "COPY",
        "A third work beside both, made by every device on a stream of its own: "
        "copy:device_to_host:256M, as offloading makes them");
    app_->add_flag("--in-place", in_place_, "Run the collectives in place");
    add("--policy", policies_, "LIST",
        "serial, base, priority, partition, priority+partition, zero-cta, dma, dma+partition, or "
        "all, the default (docs/overlap.md)");
    add("--units", units_, "LIST",
        "Compute units that partition policies reserve for communication; default: powers of two "
        "from 8 to a quarter of all, where the device can be partitioned");
    app_->add_flag(
        "--isolated", isolated_,
        "Instead, measure each GEMM and each collective alone, on all compute units and on fewer");
    add("--iterations", iterations_, "COUNT",
        "Minimum iterations per case; default 9, after 6 to warm up");
    add_network_flags(*app_, network_);
    add_energy_flags(*app_, energy_,
                     "Also measure energy, where the devices report it: of each work alone and of "
                     "all together, with many more iterations");
    add_output_flags(*app_, output_);
    offer(*app_, "scenarios", [] { return and_also(scenario_set_names(), "all"); });
    offer_files(*app_, "scenarios");
    offer(*app_, "--policy",
          {"serial", "base", "priority", "partition", "priority+partition", "zero-cta", "dma",
           "dma+partition", "all"});
  }

  int run(const std::vector<std::string>& line) override {
    const auto processes = Processes::find();
    return as_one(*processes, [&] { return run_in(*processes, line); });
  }

 private:
  int run_in(Processes& processes, const std::vector<std::string>& line) {
    const bool several = processes.size() > 1;
    if (several) {
      refuse_given({{"--isolated", isolated_}, {"--energy", energy_.energy}},
                   "expected one process");
    }
    OverlapOptions options = parsed();
    if (several) options.ranks.processes = &processes;
    std::vector<std::string> devices = device_names(devices_);
    if (devices.empty()) devices = {several ? "host" : "host:2"};
    RunPlan plan;
    open_own_machines(plan, devices, processes);
    for (std::size_t i = 0; i < plan.machines.size(); ++i) {
      Machine& machine = *plan.machines[i];
      if (!several && machine.size() < 2) {
        throw UsageError("overlap: " + machine.name() + ": expected two devices or more");
      }
      options.device_name = plan.names[i];
      options.scenarios = scenarios(machine.device(0).info());
      options.runs.sweep = sweep(machine.device(0).info(), options.policies);
      add_job(plan, machine,
              isolated_ ? isolated_benchmark(machine, sides_of(options, machine), interrupted)
                        : overlap_benchmark(machine, options, interrupted),
              plan.names[i]);
    }
    return measure(plan, output_, line);
  }

  OverlapOptions parsed() const {
    if (isolated_) {
      refuse_given({{"--policy", !policies_.empty()},
                    {"--also", !copy_.empty()},
                    {"--energy", energy_.energy},
                    {"--units", !units_.empty()}},
                   "expected without --isolated, which runs each side alone");
      refuse_network_flags(network_, "expected without --isolated");
    }
    OverlapOptions options;
    options.policies = parse_policies(policies_.empty() ? "all" : policies_);
    const auto swept = [](const auto& policy) {
      return has_partition(policy.kind) && policy.units == 0;
    };
    if (std::none_of(options.policies.begin(), options.policies.end(), swept)) {
      refuse_given({{"--units", !units_.empty()}}, "expected a policy with a partition as well");
    }
    if (!iterations_.empty()) {
      options.runs.mode.iterations = parse_number(iterations_, 1, "--iterations");
    }
    options.runs.energy_seconds = energy_seconds_of(energy_);
    options.ranks.node_size = node_size_of(network_);
    options.ranks.network = network_of(network_);
    return options;
  }

  // Empty if no policy needs a partition: the GEMM is then not measured in partitions.
  std::vector<int> sweep(const DeviceInfo& info, const std::vector<OverlapPolicy>& policies) const {
    const bool swept = std::any_of(policies.begin(), policies.end(), [](const auto& policy) {
      return has_partition(policy.kind) && policy.units == 0;
    });
    if (!swept) return {};
    if (units_.empty()) return partition_sweep(info);
    std::vector<int> units;
    for (const std::string& word : split(units_, ',')) {
      units.push_back(parse_number(word, 1, "--units"));
      if (units.back() < info.compute_units) continue;
      throw UsageError(fmt::format("--units {}: expected fewer than the {} compute units of {}",
                                   word, info.compute_units, info.name));
    }
    return units;
  }

  static IsolatedOptions sides_of(const OverlapOptions& options, Machine& machine) {
    return {options.scenarios, peaks_of(machine.device(0).info().model), options.runs.mode,
            options.device_name};
  }

  std::vector<OverlapScenario> scenarios(const DeviceInfo& info) const {
    std::vector<OverlapScenario> all = chosen_scenarios(info);
    if (!copy_.empty()) {
      for (OverlapScenario& each : all) each = with_copy(std::move(each), copy_);
    }
    if (in_place_) {
      for (OverlapScenario& each : all) each = in_place(std::move(each));
    }
    return all;
  }

  std::vector<OverlapScenario> chosen_scenarios(const DeviceInfo& info) const {
    if (compute_.empty() != communicate_.empty()) {
      throw UsageError("--compute and --communicate: expected both or none");
    }
    if (!compute_.empty() && !scenarios_.empty()) {
      throw UsageError(fmt::format(
          "'{}' and --compute with --communicate: expected sets of scenarios or the one that the "
          "flags make",
          scenarios_));
    }
    if (!compute_.empty()) return {parse_scenario(compute_, communicate_)};
    if (scenarios_.empty() && info.is_cpu) {
      return {parse_scenario(kCpuCompute, kCpuCommunicate)};
    }
    std::vector<OverlapScenario> all;
    for (const std::string& word : split(scenarios_.empty() ? "paper" : scenarios_, ',')) {
      const auto set = of_word(word);
      all.insert(all.end(), set.begin(), set.end());
    }
    require_different_names(all);
    return all;
  }

  static std::vector<OverlapScenario> of_word(const std::string& word) {
    if (!ends_with(word, ".toml")) return scenario_set(word);
    std::ifstream in(word);
    if (!in) throw UsageError(word + ": cannot be read: expected a file of scenarios");
    std::ostringstream text;
    text << in.rdbuf();
    return read_scenarios(word, text.str());
  }

  DeviceFlags devices_;
  OutputFlags output_;
  std::string scenarios_, compute_, communicate_, copy_, policies_, units_, iterations_;
  bool in_place_ = false, isolated_ = false;
  EnergyFlags energy_;
  NetworkFlags network_;
};

}  // namespace

DUET_DEFINE_COMMAND(overlap, OverlapCommand)

}  // namespace duet
