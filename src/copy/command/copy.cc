#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "cli/as_one.h"
#include "cli/command.h"
#include "cli/flag_values.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/lists.h"
#include "cli/measure.h"
#include "copy/cases.h"
#include "copy/nvbandwidth_set.h"
#include "copy/transfer_list.h"
#include "core/error.h"
#include "core/names.h"
#include "core/units.h"

namespace duet {
namespace {

constexpr int kMostGridOrBlock = 65536;  // limit for threads of a block and for blocks of a grid

MemoryKind parse_host_memory(const std::string& text) {
  constexpr NamedValue<MemoryKind> kKinds[] = {{MemoryKind::pinned, "pinned"},
                                               {MemoryKind::pageable, "pageable"}};
  return parse_name(kKinds, "--host-memory: unknown memory", text);
}

class CopyCommand : public Command {
 public:
  explicit CopyCommand(CLI::App& root)
      : Command(
            root.add_subcommand("copy",
                                "Measure copies between devices, within a device, and to and from "
                                "the host; fit latency and bandwidth")) {
    add_device_flags(*app_, devices_, "host");
    add("--kind", kinds_, "LIST",
        "peer, local, host_to_device, device_to_host; default: all that the devices support");
    add("--executor", executors_, "LIST",
        "What moves the bytes: dma (copy engines, by the runtime), sdma (AMD's engines, chosen by "
        "Duet), kernel (compute units), host (CPU); default dma,kernel");
    add("--issue", issues_, "LIST",
        "Which device issues a peer copy: push (the source), pull (the destination); default both");
    add("--pattern", patterns_, "LIST",
        "pair (two devices), all_pairs (each device to all others at the same time); default both");
    add("--sizes", sizes_, "LIST",
        "Sizes in bytes: 64K, 1M or a range 4K..2G by powers of two; K, M, G are binary; seed: 4 "
        "KiB to 2,101,346,304; default seed, and within a CPU four times its cache if that is "
        "more");
    add("--pairs", pairs_, "LIST",
        "Pairs that are measured at all sizes, as FROM-TO: 0-1,2-3; default 0-1");
    add("--matrix", matrix_, "BYTES",
        "Size at which every pair is measured for the pair matrix; 0: no matrix; default 256M");
    add_yes_no(*app_, "--bidirectional,!--one-way", bidirectional_,
               "Measure pairs in both directions at the same time only, or in one direction only; "
               "default both");
    app_->add_flag("--each-device", each_device_,
                   "Measure copies within a device, and to and from the host, on each device; "
                   "default: the first device only");
    add("--host-memory", host_memory_, "LIST", "pinned, pageable; default both");
    add("--grid", grids_, "LIST",
        "Thread blocks of a copy by kernel; default: the device's choice");
    add("--block", blocks_, "LIST", "Threads per block; default: the device's choice");
    add("--transfers", transfers_, "FILE",
        "Instead of all this: lists of transfers that run at the same time, of any sizes, "
        "executors "
        "and directions (docs/measuring.md)");
    app_->add_flag("--alone", alone_,
                   "--transfers: measure each transfer of a list by itself as well");
    add("--set", set_, "LIST",
        "Instead of kinds and patterns: nvbandwidth (all its tests within a node that copy), or "
        "names of its tests; one of --sizes, default 512M");
    add_mode_flags(*app_, mode_);
    add_output_flags(*app_, output_);
    offer(*app_, "--set", [] { return and_also(nvbandwidth_tests("nvbandwidth"), "nvbandwidth"); });
    offer(*app_, "--kind", {"peer", "local", "host_to_device", "device_to_host"});
    offer(*app_, "--executor", {"dma", "sdma", "kernel", "host"});
    offer(*app_, "--issue", {"push", "pull"});
    offer(*app_, "--pattern", {"pair", "all_pairs"});
    offer(*app_, "--host-memory", {"pinned", "pageable"});
  }

  int run(const std::vector<std::string>& line) override {
    require_one_process("copy");
    if (!transfers_.empty()) return run_lists(line);
    refuse_given({{"--alone", alone_}}, "expected --transfers as well");
    if (!set_.empty()) return run_set(line);
    CopyOptions options = parsed();
    RunPlan plan;
    plan.machines = open_machines(devices_, "host");
    for (const auto& machine : plan.machines) {
      options.mode = mode_of(mode_);
      if (machine->device(0).info().is_cpu) shorten_for_cpu(options.mode, mode_);
      options.device_name = machine->name();
      add_job(plan, *machine, copy_benchmark(*machine, options, interrupted));
    }
    return measure(plan, output_, line);
  }

 private:
  int run_lists(const std::vector<std::string>& line) const {
    refuse_shapes("expected without --transfers, which has its own copies");
    refuse_given({{"--set", !set_.empty()}, {"--sizes", !sizes_.empty()}},
                 "expected without --transfers, which has its own copies");
    const std::string text = text_of_file(transfers_);
    RunPlan plan;
    plan.machines = open_machines(devices_, "host");
    for (const auto& machine : plan.machines) {
      TransferListOptions options;
      options.lists = parse_transfer_lists(transfers_, text, machine->size());
      options.alone = alone_;
      options.mode = mode_of(mode_);
      options.device_name = machine->name();
      add_job(plan, *machine, transfer_list_benchmark(*machine, options, interrupted));
    }
    return measure(plan, output_, line);
  }

  int run_set(const std::vector<std::string>& line) const {
    refuse_shapes("expected without --set, whose tests say it");
    NvbandwidthOptions options;
    for (const std::string& set : split(set_, ',')) {
      for (std::string& test : nvbandwidth_tests(set)) options.tests.push_back(std::move(test));
    }
    if (!sizes_.empty()) {
      const std::vector<std::uint64_t> sizes = parse_sizes(sizes_);
      if (sizes.size() != 1) throw UsageError("--sizes: expected one size with --set");
      options.bytes = sizes.front();
    }
    options.mode = mode_of(mode_);
    RunPlan plan;
    plan.machines = open_machines(devices_, "host");
    for (const auto& machine : plan.machines) {
      options.device_name = machine->name();
      add_job(plan, *machine, nvbandwidth_benchmark(*machine, options, interrupted));
    }
    return measure(plan, output_, line);
  }

  static std::string text_of_file(const std::string& path) {
    constexpr std::size_t kMost = 1 << 20;
    std::ifstream file(path, std::ios::binary);
    std::string text(kMost + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.empty() || text.size() > kMost) {
      throw UsageError(
          fmt::format("--transfers {}: expected a file of up to 1 MiB with lists", path));
    }
    return text;
  }

  void refuse_shapes(const std::string& why) const {
    refuse_given({{"--kind", !kinds_.empty()},
                  {"--executor", !executors_.empty()},
                  {"--issue", !issues_.empty()},
                  {"--pattern", !patterns_.empty()},
                  {"--pairs", !pairs_.empty()},
                  {"--matrix", !matrix_.empty()},
                  {"--bidirectional or --one-way", bidirectional_.has_value()},
                  {"--each-device", each_device_},
                  {"--host-memory", !host_memory_.empty()},
                  {"--grid", !grids_.empty()},
                  {"--block", !blocks_.empty()}},
                 why);
  }

  CopyOptions parsed() const {
    CopyOptions options;
    if (!kinds_.empty()) options.kinds = parse_list(kinds_, parse_copy_kind);
    if (!executors_.empty()) options.executors = parse_list(executors_, parse_executor);
    if (!issues_.empty()) options.issues = parse_list(issues_, parse_issue);
    if (!patterns_.empty()) options.patterns = parse_list(patterns_, parse_pattern);
    if (!sizes_.empty()) options.sizes = parse_sizes(sizes_);
    if (!pairs_.empty()) options.pairs = parse_pairs(pairs_);
    if (!matrix_.empty()) options.matrix_bytes = parse_bytes(matrix_);
    if (bidirectional_) options.directions = {*bidirectional_};
    if (!host_memory_.empty()) options.host_memory = parse_list(host_memory_, parse_host_memory);
    options.each_device = each_device_;
    const auto number = [](const char* flag) {
      return
          [flag](const std::string& text) { return parse_number(text, 1, flag, kMostGridOrBlock); };
    };
    if (!grids_.empty()) options.grids = parse_list(grids_, number("--grid"));
    if (!blocks_.empty()) options.blocks = parse_list(blocks_, number("--block"));
    options.mode = mode_of(mode_);
    require_effect(options);
    return options;
  }

  // Refuses flags that have no effect on the chosen kinds of copies.
  void require_effect(const CopyOptions& options) const {
    const auto has = [](const auto& list, auto value) {
      return std::find(list.begin(), list.end(), value) != list.end();
    };
    const auto chosen = [&](CopyKind kind) { return kinds_.empty() || has(options.kinds, kind); };
    const bool pairs = has(options.patterns, Pattern::pair);
    if (!chosen(CopyKind::peer)) {
      refuse_given({{"--issue", !issues_.empty()},
                    {"--pattern", !patterns_.empty()},
                    {"--pairs", !pairs_.empty()},
                    {"--matrix", !matrix_.empty()},
                    {"--bidirectional or --one-way", bidirectional_.has_value()}},
                   "expected peer in --kind as well");
    }
    if (!pairs) {
      refuse_given({{"--pairs", !pairs_.empty()},
                    {"--matrix", !matrix_.empty()},
                    {"--bidirectional or --one-way", bidirectional_.has_value()}},
                   "expected pair in --pattern as well");
    }
    if (!chosen(CopyKind::local) && !chosen(CopyKind::host_to_device) &&
        !chosen(CopyKind::device_to_host)) {
      refuse_given({{"--each-device", each_device_}},
                   "expected local, host_to_device or device_to_host in --kind as well");
    }
    if (!chosen(CopyKind::host_to_device) && !chosen(CopyKind::device_to_host)) {
      refuse_given({{"--host-memory", !host_memory_.empty()}},
                   "expected host_to_device or device_to_host in --kind as well");
    }
    if (!executors_.empty() && !has(options.executors, Executor::kernel)) {
      refuse_given({{"--grid", !grids_.empty()}, {"--block", !blocks_.empty()}},
                   "expected kernel in --executor as well");
    }
  }

  DeviceFlags devices_;
  ModeFlags mode_;
  OutputFlags output_;
  std::string kinds_, executors_, issues_, patterns_, sizes_, pairs_, matrix_, host_memory_;
  std::string grids_, blocks_;
  std::optional<bool> bidirectional_;
  std::string transfers_, set_;
  bool each_device_ = false, alone_ = false;
};

}  // namespace

DUET_DEFINE_COMMAND(copy, CopyCommand)

}  // namespace duet
