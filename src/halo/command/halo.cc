// `duet halo`: Jacobi iterations on a grid whose rows are divided over ranks.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/as_one.h"
#include "cli/command.h"
#include "cli/flag_values.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/lists.h"
#include "cli/measure.h"
#include "cli/network_flags.h"
#include "copy/cpu/peak.h"
#include "core/error.h"
#include "halo/cases.h"

namespace duet {
namespace {

constexpr int kMostPoints = 1 << 24;                       // of a row, and rows
constexpr std::int64_t kBytesOfPoint = 2 * sizeof(float);  // in both fields

class HaloCommand : public Command {
 public:
  explicit HaloCommand(CLI::App& root)
      : Command(root.add_subcommand("halo",
                                    "Measure halo exchange in Jacobi iterations: sweeps of a grid, "
                                    "divided over ranks, with each engine")) {
    add_device_flags(*app_, devices_, "host:2; with several processes, one host device each");
    add("--engine", engines_, "LIST", "Engines by name; default: all that the devices have");
    add("--nx", nx_, "LIST",
        "Columns of the grid, at least 3; default: GPUs 16384 and 20480, CPUs 4096, simulated "
        "1024");
    add("--ny", ny_, "LIST",
        "Rows of the grid; with weak scaling, rows per rank; default: the same as columns");
    add("--ranks", ranks_, "LIST",
        "Numbers of ranks; default: all, with --scaling 1, 2, 4 ... and all");
    add("--scaling", scalings_, "LIST",
        "none, strong (the same grid for every number of ranks), weak (--ny rows per rank); strong "
        "and weak add speedup and efficiency over one rank; default none");
    add("--overlap", overlaps_, "LIST",
        "yes (boundary rows first, their exchange beside the rest), no; default both");
    add("--norm", norms_, "LIST",
        "When the norm of an iteration is known: none (it is not computed), device (before the "
        "next "
        "iteration), host (read before the next one is enqueued), delayed (beside the next one), "
        "or "
        "all; default none");
    app_->add_flag("--graph", graph_, "Launch the iterations of a sample as one graph");
    add("--steps", steps_, "COUNT", "Iterations of a sample, an even number; default 10");
    add("-c", checks_, "0|1", "Check the results; default 1");
    add_network_flags(*app_, network_);
    add_mode_flags(*app_, mode_);
    add_output_flags(*app_, output_);
    offer(*app_, "--norm", [] { return and_also(names_of(all_norms()), "all"); });
    offer(*app_, "--scaling", [] { return names_of(all_scalings()); });
    offer(*app_, "--overlap", {"yes", "no", "both"});
    offer(*app_, "--engine",
          {"dma", "kernel", "host", "nccl", "nccl-window", "rccl", "nvshmem-p", "nvshmem-block",
           "nvshmem-signal", "mpi"});
  }

  int run(const std::vector<std::string>& line) override {
    const auto processes = Processes::find();
    return as_one(*processes, [&] { return run_in(*processes, line); });
  }

 private:
  int run_in(Processes& processes, const std::vector<std::string>& line) {
    HaloOptions options = parsed();
    std::vector<std::string> devices = device_names(devices_);
    if (devices.empty()) devices = {processes.size() == 1 ? "host:2" : "host"};
    RunPlan plan;
    open_own_machines(plan, devices, processes);
    for (std::size_t i = 0; i < plan.machines.size(); ++i) {
      Machine& machine = *plan.machines[i];
      options.device_name = plan.names[i];
      Processes* const several = processes.size() == 1 ? nullptr : &processes;
      Benchmark halo = halo_benchmark(machine, options, interrupted, several);
      if (several == nullptr) add_copy_peak(plan, machine, plan.names[i], halo);
      add_job(plan, machine, std::move(halo), plan.names[i]);
    }
    return measure(plan, output_, line);
  }

  // Before the sweeps of a CPU that are held against it (docs/verdicts.md).
  static void add_copy_peak(RunPlan& plan, Machine& machine, const std::string& device_name,
                            const Benchmark& halo) {
    const DeviceInfo& info = machine.device(0).info();
    if (!info.is_cpu) return;
    const auto held = [&](const Case& one) {
      const Axes& axes = one.id.axes;
      return axes.number("ranks") == 1 && axes.text("norm") == name(NormMode::none) &&
             kBytesOfPoint * *axes.number("nx") * *axes.number("ny") >= copy_peak_bytes(info);
    };
    if (std::none_of(halo.cases.begin(), halo.cases.end(), held)) return;
    add_job(plan, machine,
            {{copy_peak_case(machine, device_name, Executor::kernel, interrupted)}, {}},
            device_name);
  }

  static std::vector<std::int64_t> parse_sizes_of(const std::string& text, const char* flag,
                                                  std::int64_t least) {
    return parse_list(text, [&](const std::string& word) {
      return std::int64_t{parse_number(word, static_cast<int>(least), flag, kMostPoints)};
    });
  }

  static bool parse_overlap(const std::string& text) {
    if (text == "yes") return true;
    if (text == "no") return false;
    throw UsageError(fmt::format("--overlap: unknown '{}': expected yes, no or both", text));
  }

  HaloOptions parsed() const {
    HaloOptions options;
    if (!engines_.empty()) options.engines = split(engines_, ',');
    if (!nx_.empty()) options.nx = parse_sizes_of(nx_, "--nx", kFewestColumns);
    if (!ny_.empty()) options.ny = parse_sizes_of(ny_, "--ny", 1);
    if (!ranks_.empty()) {
      options.ranks = parse_list(
          ranks_, [](const std::string& word) { return parse_number(word, 1, "--ranks"); });
    }
    if (!scalings_.empty()) options.scalings = parse_list(scalings_, parse_scaling);
    if (!overlaps_.empty() && overlaps_ != "both") {
      options.overlaps = parse_list(overlaps_, parse_overlap);
    }
    if (!norms_.empty()) {
      options.norms = norms_ == "all" ? all_norms() : parse_list(norms_, parse_norm);
    }
    options.graph = graph_;
    if (!steps_.empty()) options.iterations = parse_number(steps_, 2, "--steps", 1000);
    if (options.iterations % 2 != 0) {
      throw UsageError(fmt::format("--steps {}: expected an even number", options.iterations));
    }
    if (!checks_.empty()) options.verified = parse_number(checks_, 0, "-c", 1) > 0;
    options.mode = mode_of(mode_);
    options.node_size = node_size_of(network_);
    options.network = network_of(network_);
    return options;
  }

  DeviceFlags devices_;
  ModeFlags mode_;
  NetworkFlags network_;
  OutputFlags output_;
  std::string engines_, nx_, ny_, ranks_, scalings_, overlaps_, norms_, steps_, checks_;
  bool graph_ = false;
};

}  // namespace

DUET_DEFINE_COMMAND(halo, HaloCommand)

}  // namespace duet
