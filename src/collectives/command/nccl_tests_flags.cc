#include "collectives/command/nccl_tests_flags.h"

#include <fmt/format.h>

#include <cstddef>

#include "cli/lists.h"
#include "core/error.h"

namespace duet {
namespace {

// nccl-tests of July 2026.
struct NcclTestsFlag {
  const char* names;
  const char* taken;    // values with which Duet measures anyway, between '|'; "": none
  const char* instead;  // what Duet has
};

constexpr NcclTestsFlag kFlags[] = {
    {"-m,--agg_iters", "1", "calls are not grouped; -G captures those of a sample as a graph"},
    {"-N,--run_cycles", "1",
     "run the command again with another --json; duet compare takes several journals a side"},
    {"-p,--parallel_init", "0|1", "ranks are always opened in parallel"},
    {"-z,--blocking", "0", "Duet times calls on the device, not the CPU's wait for them"},
    {"-y,--stream_null", "0", "Duet never uses the default stream"},
    {"-a,--average", "3", "the time of a call is the slowest rank's (3)"},
    {"-C,--report_cputime", "0",
     "the CPU's time of a call is the note enqueue_us in the journal of --json"},
    {"-S,--report_timestamps", "0", "the time of the run is in the journal of --json"},
    {"-J,--output_file", "", "--json writes Duet's journal; duet import reads nccl-tests' files"},
    {"-R,--local_register", "0",
     "the engine nccl-window has symmetric buffers (2): --engine nccl,nccl-window"},
    {"-x,--cta_policy", "0",
     "the engine nccl-zero-cta has copies instead of kernels (2): --engine nccl,nccl-zero-cta"},
    {"-D,--device_implementation", "0",
     "kernels of Duet's own are the engines kernel and nvshmem-*: --engine nccl,kernel"},
    {"--device_cta_count", "", "blocks of Duet's kernels follow from the device and the size"},
    {"-M,--memory", "0", "the memory that libraries take is not measured"},
    {"-u,--unalign", "0", "buffers are aligned to 256 bytes"},
    {"-I,--per_iter_timing", "0", "without --loop each call is timed; the journal has percentiles"},
    {"-K,--per_iter_skip", "0", "calls of -w are not timed"}};

bool is_taken(const NcclTestsFlag& flag, const std::string& value) {
  for (const std::string& each : split(flag.taken, '|')) {
    if (!each.empty() && each == value) return true;
  }
  return false;
}

}  // namespace

void add_nccl_tests_flags(CLI::App& app, NcclTestsFlags& flags) {
  flags.values.resize(std::size(kFlags));
  for (std::size_t i = 0; i < std::size(kFlags); ++i) {
    const NcclTestsFlag& each = kFlags[i];
    const std::string taken = *each.taken == '\0' ? "Not taken" : each.taken;
    app.add_option(each.names, flags.values[i], fmt::format("{}: {}", taken, each.instead))
        ->type_name("")
        ->group("Flags of nccl-tests without effect here, and the values that are taken");
  }
}

void require_as_nccl_tests(const NcclTestsFlags& flags) {
  for (std::size_t i = 0; i < flags.values.size(); ++i) {
    const NcclTestsFlag& each = kFlags[i];
    if (flags.values[i].empty() || is_taken(each, flags.values[i])) continue;
    const std::string name = split(each.names, ',').front();
    const std::string expected = *each.taken == '\0' ? "no such flag" : each.taken;
    throw UsageError(
        fmt::format("{} {}: expected {}: {}", name, flags.values[i], expected, each.instead));
  }
}

}  // namespace duet
