#include "copy/workload.h"

#include <utility>

#include "copy/cases.h"

namespace duet {
namespace {

std::string peak_of_executor(const CaseId& id) { return copy_peak_name(axis_word(id, "executor")); }

std::vector<RecordKind> copy_records() {
  RecordKind copy{"copy"}, peak{"copy_peak"};
  copy.figures = {"gb_per_s",     "gb_per_s_each",      "latency_us",       "asymptotic_gb_per_s",
                  "n_half_bytes", "bytes_50_percent",   "bytes_80_percent", "bytes_90_percent",
                  "miss_percent", "beyond_best_percent"};
  copy.table.beside = {{"bytes"}};
  copy.table.marks_best = false;
  copy.table.few_as_lines = copy.table.alone = true;
  copy.expect = expect_copy;
  copy.peak = peak.peak = peak_of_executor;
  peak.figures = {"gb_per_s"};
  peak.is_peak = true;
  return {copy, peak};
}

const std::vector<std::uint64_t> kFewSizes = {64ull << 10, 1ull << 20, 16ull << 20, 256ull << 20};

// The curve of the MI300X study: one copy by a copy engine, from a device to its neighbour.
CopyOptions study() {
  CopyOptions options;
  options.kinds = {CopyKind::peer};
  options.executors = {Executor::dma};
  options.issues = {Issue::push};
  options.directions = {false};
  return options;
}

// All kinds of copies, pushed in one direction, at four sizes: takes seconds on GPUs.
CopyOptions short_on_gpu() {
  CopyOptions options;
  options.issues = {Issue::push};
  options.directions = {false};
  options.sizes = kFewSizes;
  options.mode.seconds = 0.1;
  return options;
}

CopyOptions on_cpu() {
  CopyOptions options;
  options.sizes = kFewSizes;
  options.beyond_cache = true;
  options.mode.seconds = 0.3;
  return options;
}

// By copy engines with the host, between all pairs and all at once; by compute units within each
// device, where copy engines need not reach the memory's rate.
CopyOptions of_health(std::vector<CopyKind> kinds, Executor executor) {
  CopyOptions options = short_on_gpu();
  options.kinds = std::move(kinds);
  options.executors = {executor};
  options.sizes = {256ull << 20};
  options.host_memory = {MemoryKind::pinned};
  options.each_device = true;
  return options;
}

CopyOptions of_health_on_cpu() {
  CopyOptions options = on_cpu();
  options.sizes = {256ull << 20};
  return options;
}

std::vector<SuiteEntry> copy_suites() {
  const auto entry = [](const char* suite, const char* device, bool if_there,
                        const CopyOptions& options) {
    return suite_entry(suite, device, if_there, copy_benchmark, options);
  };
  const std::vector<CopyKind> beyond{CopyKind::peer, CopyKind::host_to_device,
                                     CopyKind::device_to_host};
  return {entry("quick", "host", false, on_cpu()),
          entry("quick", "sim:mi300x-8", false, study()),
          entry("quick", "cuda", true, short_on_gpu()),
          entry("quick", "hip", true, short_on_gpu()),
          entry("seed", "sim:mi300x-8", false, CopyOptions()),
          entry("seed", "cuda", true, CopyOptions()),
          entry("seed", "hip", true, CopyOptions()),
          entry("seed", "host", false, CopyOptions()),
          entry("health", "host", false, of_health_on_cpu()),
          entry("health", "", false, of_health(beyond, Executor::dma)),
          entry("health", "", false, of_health({CopyKind::local}, Executor::kernel))};
}

}  // namespace

std::string copy_peak_name(std::string_view executor) { return "copy " + std::string(executor); }

const Workload& copy_workload() {
  static const Workload copy{copy_records(), copy_suites()};
  return copy;
}

}  // namespace duet
