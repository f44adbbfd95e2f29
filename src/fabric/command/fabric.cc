#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cli/as_one.h"
#include "cli/command.h"
#include "cli/flag_values.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/lists.h"
#include "cli/measure.h"
#include "cli/network_flags.h"
#include "cli/own_processes.h"
#include "core/deadline.h"
#include "core/error.h"
#include "core/names.h"
#include "core/units.h"
#include "fabric/cases.h"

namespace duet {
namespace {

constexpr int kMostNodes = 256;  // processes on this machine
constexpr int kMostMessages = 1 << 20;
constexpr int kMostWindow = 1 << 16;
constexpr int kMostProducers = 4096;

MemoryKind parse_fabric_memory(const std::string& text) {
  constexpr NamedValue<MemoryKind> kKinds[] = {{MemoryKind::pageable, "host"},
                                               {MemoryKind::pinned, "pinned"},
                                               {MemoryKind::device, "device"}};
  return parse_name(kKinds, "--memory: unknown memory", text);
}

MemoryKind parse_fifo_memory(const std::string& text) {
  constexpr NamedValue<MemoryKind> kKinds[] = {{MemoryKind::pinned, "pinned"},
                                               {MemoryKind::managed, "managed"},
                                               {MemoryKind::device, "device"}};
  return parse_name(kKinds, "--fifo-memory: unknown memory", text);
}

std::vector<bool> parse_directions(const std::string& text) {
  if (text == "both") return {false, true};
  if (text == "one-way") return {false};
  if (text == "two-way") return {true};
  throw UsageError("--direction: unknown '" + text + "'" +
                   did_you_mean(text, {"one-way", "two-way", "both"}) +
                   ": expected one-way, two-way or both");
}

Words fabric_choices() {
  Words names = {"all"};
  for (const int processes : {2, 3}) {  // some are between two only, others between more
    for (const std::string& each : names_of(fabric_operations(processes))) {
      if (std::find(names.begin(), names.end(), each) == names.end()) names.push_back(each);
    }
  }
  return names;
}

class FabricCommand : public Command {
 public:
  explicit FabricCommand(CLI::App& root)
      : Command(root.add_subcommand("fabric",
                                    "Measure messages between processes over the network with "
                                    "libfabric, on one or several rails")) {
    app_->add_option("operations", operations_,
                     "send_recv (round trip), write, write_imm, read, between two processes; "
                     "all_to_all, between any number; a list of them, or all; default all")
        ->type_name("LIST")
        ->check(not_empty());
    add_device_flags(*app_, devices_, "host");
    add("--provider", options_.settings.provider, "NAME",
        "libfabric provider: tcp;ofi_rxm (or tcp), shm, efa; default tcp;ofi_rxm");
    add("--sizes", sizes_, "LIST",
        "Message sizes in bytes: 64K, 1M or a range 4K..2G by powers of two; default 256K..1G, or "
        "256K,4M,64M between processes that it starts on a CPU");
    add("--window", windows_, "LIST", "Messages in flight; default 1,8");
    add("--messages", messages_, "COUNT",
        "Messages per iteration; default: as many windows as fit into 32 MiB, from 1 to 32");
    add("--places", places_, "COUNT",
        "Buffers that the messages use in rotation (1: one buffer, which stays in the cache); the "
        "last message in each is verified; default: one per message, or as many as --memory-limit "
        "allows");
    add("--chunk", chunk_, "BYTES",
        "Size of the pieces of a message; 0: one piece per rail; default 1M, with --memory-path "
        "ipc 0");
    add("--direction", directions_, "WHICH",
        "one-way, two-way (both at once) or both; default one-way");
    add("--memory", memory_, "LIST",
        "Memory of the messages: host, pinned (registered with the GPU of --device), device; "
        "default host");
    add("--memory-path", path_, "PATH",
        "Path to device memory: direct (by the provider), ipc (copies between GPUs of one "
        "machine), staged (through bounce buffers), or auto, the first of these that works; "
        "default auto");
    add("--memory-limit", limit_, "BYTES",
        "Skip cases that need more memory than this per process and direction; default 2G");
    add("--issue", issues_, "LIST",
        "What posts writes: direct (the measuring thread), or a proxy thread for producers that "
        "wait after each message (blocking) or after the last (nonblocking, with --window messages "
        "in flight); default direct");
    add("--producers", producers_, "LIST", "Threads that push commands to the proxy; default 1");
    add("--fifo-memory", fifo_memory_, "LIST",
        "Memory of the proxy's FIFO: pinned, managed, device (where the CPU can access it, for "
        "example with gdrcopy); default pinned");
    add("--nodes", nodes_, "COUNT",
        "Number of processes to start on this machine, if no launcher did; default 2");
    app_->add_flag("--fifo", options_.fifo,
                   "Also measure the FIFO between producers and proxy alone");
    add_rail_flags();
    add_mode_flags(*app_, mode_);
    add_output_flags(*app_, output_);
    offer_values();
  }

  int run(const std::vector<std::string>& line) override {
    FabricOptions options = parsed();
    if (OwnProcesses::launched() && !nodes_.empty()) {
      throw UsageError("--nodes: expected without several processes: it starts them itself");
    }
    started_ = !OwnProcesses::launched();
    const OwnProcesses processes_made(
        nodes_.empty() ? 2 : parse_number(nodes_, 2, "--nodes", kMostNodes));
    const auto processes = Processes::find(meet_seconds_);
    return as_one(*processes, [&] { return run_in(*processes, options, line); });
  }

 private:
  void offer_values() {
    offer(*app_, "operations", fabric_choices);
    offer(*app_, "--rail-mode", {"single", "split", "round_robin"});
    offer(*app_, "--direction", {"one-way", "two-way", "both"});
    offer(*app_, "--memory", {"host", "pinned", "device"});
    offer(*app_, "--memory-path", {"auto", "direct", "ipc", "staged"});
    offer(*app_, "--issue", {"direct", "blocking", "nonblocking"});
    offer(*app_, "--fifo-memory", {"pinned", "managed", "device"});
    offer(*app_, "--provider", provider_words());
  }

  void add_rail_flags() {
    add("--rails", options_.settings.rails, "LIST",
        "A list of NICs by name or address (interfaces for tcp), the number of nearest NICs to "
        "use, or all; default 1");
    add("--rail-mode", modes_, "LIST",
        "single (the first rail), split (each message over all rails), round_robin (each message "
        "on the next rail); default: all that differ");
    app_->add_option("--link-gbit", options_.settings.link_gbit,
                     "Gbit/s of one rail in one direction; default: as the link reports")
        ->type_name("GBIT")
        ->check(number_above_0("--link-gbit", kMostGbit, "Gbit/s"));
    app_->add_option("--stall", options_.settings.stall_seconds,
                     "Time without a completion after which a rail counts as stalled; default 10")
        ->type_name("SECONDS")
        ->check(seconds_above_0("--stall"));
    app_->add_flag("--failover", options_.settings.failover,
                   "Send the messages of a lost rail over the others (not send_recv); default: the "
                   "case fails");
    app_->add_option("--meet", meet_seconds_,
                     "Maximum time to wait for the other processes; default 60")
        ->type_name("SECONDS")
        ->check(seconds_above_0("--meet"));
  }

  int run_in(Processes& processes, FabricOptions& options, const std::vector<std::string>& line) {
    std::vector<std::string> devices = device_names(devices_);
    if (devices.empty()) devices = {"host"};
    const bool on_cpus = std::all_of(devices.begin(), devices.end(), [](const std::string& name) {
      return name.rfind("host", 0) == 0;
    });
    if (started_ && on_cpus) take_fewer(options);
    RunPlan plan;
    plan.own_processes = started_;
    open_own_machines(plan, devices, processes);
    for (std::size_t i = 0; i < plan.machines.size(); ++i) {
      Machine& machine = *plan.machines[i];
      if (machine.is_virtual()) {
        throw UsageError("duet fabric --device " + machine.name() +
                         ": expected host, cuda or hip: a simulated machine has no network");
      }
      options.device_name = plan.names[i];
      options.device = started_ ? processes.index() % machine.size() : 0;
      add_job(plan, machine, fabric_benchmark(machine, options, interrupted, processes),
              plan.names[i]);
    }
    return measure(plan, output_, line);
  }

  // Between processes on one CPU, which take turns on its cores, fewer sizes tell as much.
  void take_fewer(FabricOptions& options) const {
    if (options.sizes.empty()) options.sizes = {256 << 10, 4 << 20, 64 << 20};
    shorten_for_cpu(options.mode, mode_);
  }

  FabricOptions parsed() const {
    FabricOptions options = options_;
    if (options.settings.provider == "tcp") options.settings.provider = "tcp;ofi_rxm";
    if (!operations_.empty() && operations_ != "all") {
      options.operations = parse_list(operations_, parse_fabric_operation);
    }
    if (!sizes_.empty()) options.sizes = parse_sizes(sizes_);
    if (!modes_.empty()) options.modes = parse_list(modes_, parse_rail_mode);
    if (!memory_.empty()) options.memory = parse_list(memory_, parse_fabric_memory);
    if (!path_.empty() && path_ != "auto") options.path = parse_memory_path(path_);
    if (!directions_.empty()) options.directions = parse_directions(directions_);
    const auto window = [](const std::string& text) {
      return parse_number(text, 1, "--window", kMostWindow);
    };
    if (!windows_.empty()) options.windows = parse_list(windows_, window);
    const auto threads = [](const std::string& text) {
      return parse_number(text, 1, "--producers", kMostProducers);
    };
    if (!producers_.empty()) options.producers = parse_list(producers_, threads);
    if (!fifo_memory_.empty()) {
      options.fifo_memory = parse_list(fifo_memory_, parse_fifo_memory);
    }
    if (!issues_.empty()) options.issues = parse_list(issues_, parse_rail_issue);
    if (!messages_.empty()) {
      options.messages = parse_number(messages_, 1, "--messages", kMostMessages);
    }
    if (!places_.empty()) options.places = parse_number(places_, 1, "--places", kMostMessages);
    if (!chunk_.empty()) options.chunk = parse_bytes(chunk_);
    if (!limit_.empty()) options.memory_limit = parse_bytes(limit_);
    options.mode = mode_of(mode_);
    require_effect(options);
    return options;
  }

  // Refuses flags that have no effect on what was asked for.
  void require_effect(const FabricOptions& options) const {
    const auto& operations = options.operations;
    const bool alone = operations.size() == 1 && operations[0] == FabricOperation::all_to_all;
    const std::pair<const char*, const std::string&> flags[] = {{"--window", windows_},
                                                                {"--messages", messages_},
                                                                {"--places", places_},
                                                                {"--direction", directions_},
                                                                {"--issue", issues_}};
    for (const auto& [flag, text] : flags) {
      if (!alone || text.empty()) continue;
      throw UsageError(fmt::format(
          "{}: expected without all_to_all alone, which posts all of its messages at once", flag));
    }
    const auto& issues = options.issues;
    const bool proxy = std::any_of(issues.begin(), issues.end(),
                                   [](RailIssue issue) { return issue != RailIssue::direct; });
    if (!proxy && !options.fifo) {
      refuse_given({{"--producers", !producers_.empty()}, {"--fifo-memory", !fifo_memory_.empty()}},
                   "expected a proxy as well: --issue blocking or nonblocking, or --fifo");
    }
    const auto& memory = options.memory;
    if (std::find(memory.begin(), memory.end(), MemoryKind::device) == memory.end()) {
      refuse_given({{"--memory-path", !path_.empty()}}, "expected --memory device as well");
    }
    const std::string& rails = options.settings.rails;
    if (options.settings.failover && (rails.empty() || rails == "1")) {
      throw UsageError("--failover: expected several rails as well: --rails");
    }
    if (operations.size() == 1 && operations[0] == FabricOperation::send_recv) {
      refuse_given({{"--direction", !directions_.empty()}},
                   "expected another operation as well: send_recv goes both ways");
    }
  }

  FabricOptions options_;
  DeviceFlags devices_;
  ModeFlags mode_;
  OutputFlags output_;
  std::string operations_, sizes_, windows_, messages_, places_, chunk_, directions_, memory_,
      path_, limit_, modes_, issues_, producers_, fifo_memory_, nodes_;
  double meet_seconds_ = kDefaultDeadlineSeconds;
  bool started_ = false;  // this command started the processes, so all are on this machine
};

}  // namespace

DUET_DEFINE_COMMAND(fabric, FabricCommand)

}  // namespace duet
