// `duet collective`: takes the flags of nccl-tests with the same meaning.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/as_one.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/flag_values.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/lists.h"
#include "cli/measure.h"
#include "cli/network_flags.h"
#include "cli/outputs.h"
#include "collectives/cases.h"
#include "collectives/command/nccl_table.h"
#include "collectives/command/nccl_tests_flags.h"
#include "collectives/command/show_schedule.h"
#include "collectives/command/tuning.h"
#include "collectives/tuning/changeover.h"
#include "core/error.h"
#include "core/names.h"
#include "core/units.h"
#include "team/agreement.h"

namespace duet {
namespace {

// The names of data types in nccl-tests and in Duet. Unsigned bytes are measured as int8.
std::vector<DType> parse_types(const std::string& text) {
  const std::vector<std::pair<const char*, DType>> known = {
      {"float", DType::fp32},  {"fp32", DType::fp32},     {"half", DType::fp16},
      {"fp16", DType::fp16},   {"bfloat16", DType::bf16}, {"bf16", DType::bf16},
      {"int32", DType::int32}, {"uint8", DType::int8},    {"int8", DType::int8}};
  std::vector<std::string_view> words;
  for (const auto& [name, type] : known) words.emplace_back(name);
  if (text == "all") return {DType::fp32, DType::fp16, DType::bf16, DType::int32, DType::int8};
  return parse_list(text, [&](const std::string& word) {
    for (const auto& [name, type] : known) {
      if (word == name) return type;
    }
    throw UsageError(
        fmt::format("-d: unknown type '{}'{}: expected float (fp32), half (fp16), "
                    "bfloat16 (bf16), int32, uint8 (int8) or all",
                    word, did_you_mean(word, words)));
  });
}

std::vector<bool> parse_places(const std::string& text) {
  if (text == "both") return {false, true};
  if (text == "out") return {false};
  if (text == "in") return {true};
  throw UsageError(fmt::format("--in-place: unknown '{}': expected out, in or both", text));
}

bool is_rooted(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::gather ||
         kind == CollectiveKind::scatter;
}

class CollectiveCommand : public Command {
 public:
  explicit CollectiveCommand(CLI::App& root)
      : Command(root.add_subcommand(
            "collective", "Measure collectives with each engine, with the flags of nccl-tests")) {
    app_->add_option("collectives", kinds_,
                     "all_gather, all_to_all, all_to_all_v, broadcast, gather, scatter, send_recv, "
                     "reduce_scatter, all_reduce, neighbor_exchange, a list of them, or all")
        ->type_name("LIST")
        ->required()
        ->check(not_empty());
    add_device_flags(*app_, devices_, "host:4; with several processes, one host device each");
    add("--engine", engines_, "LIST", "Engines by name; default: all that the devices have");
    add_size_flags();
    add("-d,--datatype", types_, "LIST",
        "float, half, bfloat16, int32, uint8 (or fp32, fp16, bf16, int32, int8), or all; default "
        "float");
    add("-o,--op", ops_, "LIST", "sum, max, min, avg or all; default sum");
    add("-r,--root", root_, "RANK", "Root of broadcast, gather and scatter; default 0");
    add("--in-place", places_, "WHICH", "out, in or both; default both");
    add("--skew", skews_, "LIST",
        "all_to_all_v: distribution of the bytes over the ranks: even, random, one_heavy; default "
        "even");
    add("--packet", packets_, "LIST",
        "nvshmem-block and nvshmem-grid: maximum bytes of one put, multiples of 16; "
        "default 64K");
    add_network_flags(*app_, network_);
    app_->add_flag("--tune", tune_,
                   "Measure from which size on dma is faster than kernel, and store it for the "
                   "engine auto (docs/collectives.md); if NCCL is installed, also at which sizes "
                   "the drop-in's packets, kernel and copies are as fast, for duet nccl-env; "
                   "default sizes 64K (with NCCL 8K) to 1G (CPUs: 16M)");
    add_show_schedule_flags(*app_, schedule_);
    add_group_flags();
    add_nccl_flags();
    add_nccl_tests_flags(*app_, nccl_tests_);
    add_mode_flags(*app_, mode_);
    add_output_flags(*app_, output_);
    app_->add_option("--table", table_,
                     "How the console shows the figures: nccl, in the columns of nccl-tests; "
                     "default: one table with a column per engine")
        ->type_name("NAME")
        ->group("Output");
    offer_values();
  }

  int run(const std::vector<std::string>& line) override {
    const auto processes = Processes::find();
    return as_one(*processes, [&] { return run_in(*processes, line); });
  }

 private:
  void offer_values() {
    offer(*app_, "collectives", [] { return and_also(names_of(all_collectives()), "all"); });
    offer(*app_, "--engine",
          {"dma", "kernel", "auto", "sdma", "host", "nccl", "nccl-window", "nccl-zero-cta",
           "nccl-duet", "nccl-duet-kernel", "rccl", "rccl-window", "rccl-zero-cta", "nvshmem",
           "nvshmem-block", "nvshmem-grid", "mpi", "vendor-model"});
    offer(*app_, "--datatype",
          {"float", "half", "bfloat16", "int32", "uint8", "fp32", "fp16", "bf16", "int8", "all"});
    offer(*app_, "--op", [] { return and_also(names_of(all_reductions()), "all"); });
    offer(*app_, "--in-place", {"out", "in", "both"});
    offer(*app_, "--skew", {"even", "random", "one_heavy"});
    offer(*app_, "--table", {"nccl"});
  }

  int run_in(Processes& processes, const std::vector<std::string>& line) {
    CollectiveOptions options = parsed();
    std::vector<std::string> devices = device_names(devices_);
    if (devices.empty()) devices = {default_device(processes)};
    if (schedule_.show) return show(processes, options, devices);
    std::optional<CollectiveTuning> tuning;  // outlives the jobs, which pass it their results
    if (tune_) tuning.emplace(processes);
    RunPlan plan;
    open_own_machines(plan, devices, processes);
    run_together(processes, [&] {
      for (const auto& machine : plan.machines) require_ranks(*machine);
    });
    for (std::size_t i = 0; i < plan.machines.size(); ++i) {
      Machine& machine = *plan.machines[i];
      options.device_name = plan.names[i];
      if (!tune_ && !output_.quiet && processes.index() == 0)
        say_left_out(options, machine, processes);
      if (tuning) {
        options.engines = tuning->engines(machine);
        options.sizes = tuning->sizes(sizes(), machine);
        const bool has_own_way = !mode_.mode.empty() || options.graph.launches > 0;
        if (!has_own_way) options.small_calls_mode = small_calls_mode(options.mode);
      }
      Benchmark benchmark = collective_benchmark(machine, options, interrupted, &processes);
      if (tuning) tuning->observe(machine, options, benchmark);
      add_job(plan, machine, std::move(benchmark), plan.names[i]);
    }
    if (table_ == "nccl") {
      output_.table = [](std::ostream& out) { return std::make_unique<NcclTable>(out); };
    }
    const int code = measure(plan, output_, line);
    std::ostream nowhere(nullptr);
    if (tuning) tuning->store(output_.quiet ? nowhere : text_stream(output_));
    return code;
  }

  int show(Processes& processes, CollectiveOptions& options,
           const std::vector<std::string>& devices) const {
    if (processes.size() > 1) throw UsageError("--show-schedule: expected one process");
    if (options.engines.empty()) options.engines = {"dma", "kernel", "auto"};
    std::vector<ShownMachine> machines;
    RunPlan plan;
    open_own_machines(plan, devices, processes);
    for (const auto& machine : plan.machines) {
      require_ranks(*machine);
      machines.push_back({machine.get(), plan.names[machines.size()]});
    }
    show_schedules(machines, options, schedule_, output_);
    return 0;
  }

  std::string default_device(const Processes& processes) const {
    if (processes.size() > 1) return "host";
    if (gpus_.empty() && threads_.empty()) return "host:4";
    return fmt::format("host:{}", gpus_per_thread() * threads());
  }

  // Sizes of a range that collective_benchmark() leaves out.
  static void say_left_out(const CollectiveOptions& options, const Machine& machine,
                           const Processes& processes) {
    const int ranks =
        options.groups ? options.groups->groups.ranks : machine.size() * processes.size();
    const std::vector<std::uint64_t>& sizes = options.sizes;
    for (const CollectiveKind kind : options.kinds) {
      for (const DType dtype : options.dtypes) {
        const std::uint64_t least = least_collective_bytes(kind, dtype, ranks);
        if (sizes.empty() || sizes.front() >= least || sizes.back() < least) continue;
        complain(fmt::format("{}: sizes below {} bytes are left out: each rank needs an element",
                             name(kind), least));
      }
    }
  }

  void add_size_flags() {
    add("-b,--minbytes", low_, "BYTES",
        "Smallest size, as nccl-tests defines sizes (docs/measuring.md); K, M and G are binary; "
        "default 64K");
    add("-e,--maxbytes", high_, "BYTES",
        "Largest size; default: that of -b; without -b and -e: to 1G (CPUs: 16M), send_recv 4 KiB "
        "to 2,101,346,304");
    add("-f,--stepfactor", factor_, "FACTOR", "Factor between two sizes; default 2");
    add("-i,--stepbytes", step_, "BYTES", "Difference between two sizes, instead of a factor");
  }

  void add_group_flags() {
    add("--groups", groups_, "GROUPSxRANKS",
        "Divide the ranks: 4x2 are 4 groups of 2 consecutive ranks, 4x2:strided of ranks that are "
        "4 apart. Every group makes the call, all at once; beside that, each group alone");
    add("--beside", beside_, "COLLECTIVE:BYTES",
        "--groups: the groups of odd numbers make this call instead, as all_gather:4M");
    add("--beside-groups", beside_groups_, "GROUPSxRANKS",
        "--beside: the ranks make that call too, in these groups, at the same time");
  }

  void add_nccl_flags() {
    app_->add_flag("--loop", loop_,
                   "Time as nccl-tests does: -n calls between two events, after -w calls to warm "
                   "up; by default 20 after 5; five samples");
    add("-n,--iters", iterations_, "COUNT",
        "--loop: calls per sample, default 20; other modes: as --iterations");
    add("-w,--warmup_iters", warm_ups_, "COUNT", "Calls to warm up; --loop: default 5");
    add("-c", checks_, "COUNT",
        "0: do not check the results; any other number: check them, with four calls whatever the "
        "number; default 1");
    add("-g,--ngpus", gpus_, "COUNT",
        "As in nccl-tests; -g times -t must be the number of devices; without --device so many "
        "of the CPU");
    add("-t,--nthreads", threads_, "COUNT",
        "As in nccl-tests; -g times -t must be the number of devices");
    add("-T,--timeout", timeout_, "SECONDS",
        "The longest wait for a call, after which the case has failed; default 120");
    add("-G,--cudagraph", graph_, "COUNT",
        "Capture the calls of a sample (--loop: -n calls, other modes: one) as a graph, and launch "
        "it COUNT times per sample; figures are per call; default 0: no capture");
  }

  CollectiveOptions parsed() const {
    CollectiveOptions options;
    options.kinds = kinds_ == "all" ? all_collectives() : parse_list(kinds_, parse_collective);
    if (!engines_.empty()) options.engines = split(engines_, ',');
    require_show_schedule(schedule_, output_,
                          {{"--tune", tune_},
                           {"--table", !table_.empty()},
                           {"-G", !graph_.empty()},
                           {"--loop", loop_},
                           {"-n", !iterations_.empty()},
                           {"-w", !warm_ups_.empty()},
                           {"-c", !checks_.empty()},
                           {"-T", !timeout_.empty()},
                           {"--mode", !mode_.mode.empty()},
                           {"--seconds", mode_.seconds.has_value()},
                           {"--iterations", mode_.iterations.has_value()},
                           {"--warm-up", mode_.warm_up_seconds.has_value()},
                           {"--flush", mode_.flush.has_value()}});
    if (tune_) {
      if (!engines_.empty()) throw UsageError("--tune and --engine: expected one of them");
      refuse_given({{"--list", output_.list}}, "expected without --tune, which needs measurements");
    }
    options.sizes = sizes();
    if (!types_.empty()) options.dtypes = parse_types(types_);
    if (!ops_.empty()) {
      options.ops = ops_ == "all" ? all_reductions() : parse_list(ops_, parse_reduction);
    }
    if (!root_.empty()) options.root = parse_number(root_, 0, "-r");
    if (!places_.empty()) options.in_place = parse_places(places_);
    if (!skews_.empty()) options.skews = parse_list(skews_, parse_skew);
    if (!packets_.empty()) options.packets = parse_list(packets_, parse_bytes);
    options.network = network_of(network_);
    options.node_size = node_size_of(network_);
    if (!checks_.empty()) options.verified = parse_number(checks_, 0, "-c") > 0;
    options.mode = mode();
    require_as_nccl_tests(nccl_tests_);
    if (!table_.empty() && table_ != "nccl") {
      throw UsageError(fmt::format("--table: unknown '{}': expected nccl", table_));
    }
    if (!graph_.empty()) capture_calls(parse_number(graph_, 0, "-G"), options);
    options.groups = groups(options.mode);
    require_effect(options);
    return options;
  }

  std::optional<GroupOptions> groups(const Mode& mode) const {
    if (groups_.empty()) {
      refuse_given({{"--beside", !beside_.empty()}, {"--beside-groups", !beside_groups_.empty()}},
                   "expected --groups as well");
      return {};
    }
    refuse_given({{"--tune", tune_},
                  {"--table", !table_.empty()},
                  {"--show-schedule", schedule_.show},
                  {"--loop", loop_},
                  {"--mode", !mode_.mode.empty()},
                  {"--flush", mode_.flush.has_value()},
                  {"-G", !graph_.empty()}},
                 "expected without --groups, which times single calls");
    GroupOptions options;
    options.groups = parse_division(groups_, "--groups");
    options.mode.deadline_seconds = mode.deadline_seconds;
    if (mode_.seconds) options.mode.seconds = *mode_.seconds;
    if (mode_.warm_up_seconds) options.mode.warm_up_seconds = *mode_.warm_up_seconds;
    if (!warm_ups_.empty()) {
      options.mode.warm_ups = mode.warm_up_iterations;
      options.mode.warm_up_seconds = 0;
    }
    if (!iterations_.empty() || mode_.iterations) options.mode.iterations = mode.max_iterations;
    options.beside = beside();
    return options;
  }

  std::optional<BesideCollective> beside() const {
    if (beside_.empty()) {
      refuse_given({{"--beside-groups", !beside_groups_.empty()}}, "expected --beside as well");
      return {};
    }
    const std::size_t colon = beside_.find(':');
    if (colon == std::string::npos) {
      throw UsageError(
          fmt::format("--beside {}: expected COLLECTIVE:BYTES, as all_gather:4M", beside_));
    }
    BesideCollective beside{
        parse_collective(beside_.substr(0, colon)), parse_bytes(beside_.substr(colon + 1)), {}};
    if (!beside_groups_.empty()) beside.groups = parse_division(beside_groups_, "--beside-groups");
    return beside;
  }

  // Refuses flags that have no effect on the chosen collectives.
  void require_effect(const CollectiveOptions& options) const {
    const auto any = [&](auto has) {
      return std::any_of(options.kinds.begin(), options.kinds.end(), has);
    };
    if (!any(reduces)) {
      refuse_given({{"-o", !ops_.empty()}}, "expected reduce_scatter or all_reduce as well");
    }
    if (!any(is_rooted)) {
      refuse_given({{"-r", !root_.empty()}}, "expected broadcast, gather or scatter as well");
    }
    if (!any([](CollectiveKind kind) { return kind == CollectiveKind::all_to_all_v; })) {
      refuse_given({{"--skew", !skews_.empty()}}, "expected all_to_all_v as well");
    }
    if (!any([](CollectiveKind kind) { return kind == CollectiveKind::all_to_all; })) {
      refuse_given({{"--packet", !packets_.empty()}}, "expected all_to_all as well");
    }
  }

  // Each sample of the loop, and each warm-up, is then one enqueue.
  void capture_calls(int launches, CollectiveOptions& options) const {
    if (launches == 0) return;
    options.graph.launches = launches;
    if (options.mode.kind != ModeKind::loop) return;
    const std::int64_t calls = std::int64_t{launches} * options.mode.iterations;
    options.graph.calls = std::exchange(options.mode.iterations, 1);
    options.mode.warm_up_iterations =
        static_cast<int>((options.mode.warm_up_iterations + calls - 1) / calls);
  }

  // Empty: the default of each collective.
  std::vector<std::uint64_t> sizes() const {
    if (!step_.empty() && !factor_.empty()) throw UsageError("-i and -f: expected one of them");
    if (low_.empty() && high_.empty()) {
      if (step_.empty() && factor_.empty()) return {};
      throw UsageError("-i and -f need a range: expected -b and -e as well");
    }
    if (high_.empty() && !(step_.empty() && factor_.empty())) {
      throw UsageError("-i and -f need a range: expected -e as well");
    }
    constexpr std::uint64_t kLow = 64 << 10;
    const std::uint64_t high = parse_bytes(high_.empty() ? low_ : high_);
    const std::uint64_t low = low_.empty() ? std::min(kLow, high) : parse_bytes(low_);
    const std::uint64_t step = step_.empty() ? 0 : parse_bytes(step_);
    if (!step_.empty() && step == 0) throw UsageError("-i 0: expected 1 byte or more");
    const int factor = factor_.empty() ? 2 : parse_number(factor_, 2, "-f");
    return size_range(low, high, step, static_cast<std::uint64_t>(factor));
  }

  Mode mode() const {
    ModeFlags flags = mode_;
    if (loop_ && !flags.mode.empty() && flags.mode != "loop") {
      throw UsageError("--loop and --mode " + flags.mode + ": expected one of them");
    }
    if (loop_) flags.mode = "loop";
    if (!iterations_.empty() && flags.iterations) {
      throw UsageError("-n and --iterations: expected one of them");
    }
    if (!warm_ups_.empty() && flags.warm_up_seconds) {
      throw UsageError("-w and --warm-up: expected one of them");
    }
    if (!iterations_.empty()) flags.iterations = parse_number(iterations_, 1, "-n");
    Mode mode = mode_of(flags);
    constexpr int kWarmUps = 5;  // the default of nccl-tests
    if (loop_ && !flags.warm_up_seconds) mode.warm_up_iterations = kWarmUps;
    if (!warm_ups_.empty()) {
      mode.warm_up_iterations = parse_number(warm_ups_, 0, "-w");
      mode.warm_up_seconds = 0;
    }
    constexpr int kMostTimeout = static_cast<int>(kMostSeconds);
    const int timeout = timeout_.empty() ? 0 : parse_number(timeout_, 0, "-T", kMostTimeout);
    if (timeout > 0) mode.deadline_seconds = timeout;  // 0: the default, as in nccl-tests
    return mode;
  }

  void require_ranks(const Machine& machine) const {
    if (gpus_.empty() && threads_.empty()) return;
    if (gpus_per_thread() * threads() == machine.size()) return;
    throw UsageError(fmt::format("-g {} -t {}: {} has {} devices: expected as many",
                                 gpus_per_thread(), threads(), machine.name(), machine.size()));
  }

  // Of both flags.
  static constexpr int kMostRanks = 4096;
  int gpus_per_thread() const {
    return gpus_.empty() ? 1 : parse_number(gpus_, 1, "-g", kMostRanks);
  }
  int threads() const { return threads_.empty() ? 1 : parse_number(threads_, 1, "-t", kMostRanks); }

  DeviceFlags devices_;
  ModeFlags mode_;
  NetworkFlags network_;
  OutputFlags output_;
  std::string kinds_, engines_, low_, high_, step_, factor_, types_, ops_, root_, places_, skews_,
      packets_, table_;
  std::string groups_, beside_, beside_groups_;
  std::string iterations_, warm_ups_, checks_, gpus_, threads_, timeout_, graph_;
  NcclTestsFlags nccl_tests_;
  ShowScheduleFlags schedule_;
  bool loop_ = false, tune_ = false;
};

}  // namespace

DUET_DEFINE_COMMAND(collective, CollectiveCommand)

}  // namespace duet
