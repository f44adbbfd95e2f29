#include "workload/workload.h"

#include <fmt/format.h>

#include "collectives/workload.h"
#include "overlap/cases.h"
#include "overlap/study.h"

namespace duet {
namespace {

Trace trace_of_overlap(const Record& record) {
  Trace trace;
  for (std::size_t rank = 0; rank < record.timeline.size(); ++rank) {
    const auto& [compute, communication, copy] = record.timeline[rank];
    const auto lane = [&](const char* what, const char* axis, const WorkSpan& span) {
      trace.lanes.push_back({fmt::format("rank {}: {}", rank, what),
                             {{axis_word(record.id, axis), span.begin, span.end}}});
    };
    lane("compute", "compute", compute);
    lane("communication", "collective", communication);
    if (copy) lane("copy", "copy", *copy);
  }
  return trace;
}

// Of scenarios of three works, which share of its rate each keeps: "keeps 93% of compute, 88% of
// communication and 97% of the copy, 2.10 times as fast as one after the other".
std::string kept_text(const Record& record) {
  const ByName<double>& metrics = record.metrics;
  if (!metrics.contains("copy_slowdown")) return "";
  const auto kept = [&metrics](const char* slowdown) {
    const double value = metrics.value(slowdown);
    return value > 0 ? 100 / value : 0;
  };
  return fmt::format(
      "keeps {:.0f}% of compute, {:.0f}% of communication and {:.0f}% of the copy, {:.2f} times as "
      "fast as one after the other",
      kept("compute_slowdown"), kept("communication_slowdown"), kept("copy_slowdown"),
      metrics.value("speedup"));
}

std::vector<RecordKind> overlap_records() {
  RecordKind overlap{"overlap"}, isolated{"overlap_isolated"};
  overlap.figures = {"best_seconds",      "ahead",
                     "fraction_of_ideal", "bound",
                     "speedup",           "ideal_speedup",
                     "compute_slowdown",  "communication_slowdown",
                     "compute_seconds",   "communication_seconds",
                     "engine_seconds"};
  overlap.table.beside = {{"policy"}};
  overlap.trace = trace_of_overlap;
  overlap.more_text = kept_text;
  isolated.rates = collective_rates;  // of a GEMM: the usual ones
  isolated.figures = {"tflops",
                      "gb_per_s",
                      "busbw_gb_per_s",
                      "algbw_gb_per_s",
                      "wire_gb_per_s",
                      "percent_of_rails",
                      "ideal_speedup",
                      "slowdown",
                      "units_taken",
                      "flop_per_byte",
                      "device_flop_per_byte",
                      "memory_gb_per_s",
                      "compute_seconds",
                      "communication_seconds"};
  isolated.more_text = collective_text;
  return {overlap, isolated};
}

// One scenario under the policies that every machine supports.
OverlapOptions one_scenario(const char* compute, const char* communication) {
  OverlapOptions options;
  options.scenarios = {parse_scenario(compute, communication)};
  options.policies = parse_policies("serial,base,priority,dma");
  return options;
}

std::optional<Benchmark> among_devices(Machine& machine, const OverlapOptions& options,
                                       const std::function<bool()>& stop) {
  if (machine.size() < 2) return std::nullopt;
  return overlap_benchmark(machine, options, stop);
}

std::vector<SuiteEntry> overlap_suites() {
  const auto entry = [](const char* device, bool if_there, const OverlapOptions& options) {
    return suite_entry("quick", device, if_there, among_devices, options);
  };
  const OverlapOptions on_gpus = one_scenario("gemm:8192x57344x8192:bf16", "all_gather:896M");
  return {entry("host:2", false, one_scenario("gemm:512x512x512:fp32", "all_gather:4M")),
          entry("sim:mi300x-8", false, on_gpus), entry("cuda", true, on_gpus)};
}

}  // namespace

const Workload& overlap_workload() {
  static const Workload overlap{overlap_records(), overlap_suites(), nullptr, studies_beside};
  return overlap;
}

}  // namespace duet
