#include "collectives/workload.h"

#include <fmt/format.h>

#include "collectives/cases.h"
#include "collectives/cost.h"
#include "collectives/engine.h"
#include "collectives/steps_trace.h"
#include "collectives/tuning/tuning_file.h"
#include "core/units.h"
#include "timing/work.h"

namespace duet {
namespace {

std::vector<RecordKind> collective_records() {
  RecordKind collective{"collective"}, crossover{"collective_crossover"}, groups{kGroupsBenchmark},
      steps{kStepsBenchmark};
  collective.quantities = {kAlgorithmBytes, kBusBytes, kBusiestWireBytes, kNetworkBytes,
                           kLinkGbitPerS};
  collective.rates = collective_rates;
  collective.figures = {"busbw_gb_per_s",   "algbw_gb_per_s", "wire_gb_per_s",
                        "percent_of_rails", "wrong",          "crossover_bytes",
                        "last_bytes",       "smallest_bytes", "largest_bytes",
                        "times_as_fast",    "latency_us",     "asymptotic_gb_per_s",
                        "n_half_bytes",     "miss_percent",   "beyond_best_percent"};
  collective.table.beside = {{"engine", "in_place"}, {"engine"}, {"in_place"}};
  collective.more_text = collective_text;
  collective.expect = expect_collective;
  crossover.sentences = crossover_lines;
  groups.quantities = collective.quantities;
  groups.rates = collective_rates;
  groups.figures = {"busbw_gb_per_s", "algbw_gb_per_s", "wire_gb_per_s", "percent_of_rails",
                    "wrong",          "slowdown",       "alone_seconds"};
  groups.own_section = true;
  groups.table.beside = collective.table.beside;
  groups.tables = groups_tables;
  groups.more_text = collective_text;
  steps.trace = trace_of_steps;
  return {collective, crossover, groups, steps};
}

// The two collectives that training uses most, at three sizes.
CollectiveOptions short_on_gpu() {
  CollectiveOptions options;
  options.kinds = {CollectiveKind::all_gather, CollectiveKind::all_to_all};
  options.sizes = {1ull << 20, 64ull << 20, 1ull << 30};
  options.in_place = {false};
  options.mode.seconds = 0.1;
  return options;
}

// Two collectives at a small and a large size, by the CPU's default engines.
CollectiveOptions on_cpu() {
  CollectiveOptions options;
  options.kinds = {CollectiveKind::all_gather, CollectiveKind::all_reduce};
  options.sizes = {64ull << 10, 4ull << 20};
  options.in_place = {false};
  options.mode.seconds = 0.1;
  return options;
}

CollectiveOptions simulated() {
  CollectiveOptions options;
  options.kinds = {CollectiveKind::all_gather, CollectiveKind::all_reduce};
  options.engines = {"dma", "vendor-model"};
  options.sizes = {256ull << 20, 1ull << 30};
  options.in_place = {false};
  return options;
}

CollectiveOptions all_of_them() {
  CollectiveOptions options;
  options.kinds = all_collectives();
  options.skews = {Skew::even, Skew::one_heavy};
  return options;
}

// Nothing on one device, or on devices without an engine for collectives.
std::optional<Benchmark> among_devices(Machine& machine, const CollectiveOptions& options,
                                       const std::function<bool()>& stop) {
  const bool runs = !collective_engines(machine.device(0).info().kind).engines.empty();
  if (machine.size() < 2 || !runs) return std::nullopt;
  return collective_benchmark(machine, options, stop);
}

std::vector<SuiteEntry> collective_suites() {
  const auto entry = [](const char* suite, const char* device, bool if_there,
                        const CollectiveOptions& options) {
    return suite_entry(suite, device, if_there, among_devices, options);
  };
  return {entry("quick", "host:2", false, on_cpu()),
          entry("quick", "sim:mi300x-8", false, simulated()),
          entry("quick", "cuda", true, short_on_gpu()), entry("seed", "cuda", true, all_of_them())};
}

}  // namespace

Rates collective_rates(const Cost& cost, double seconds) {
  const auto gb_per_s = [&](const char* bytes) { return cost.more.value(bytes) / seconds / 1e9; };
  if (cost.more.value(kAlgorithmBytes) <= 0) return usual_rates(cost, seconds);
  Rates rates = {{"busbw_gb_per_s", gb_per_s(kBusBytes)},
                 {"algbw_gb_per_s", gb_per_s(kAlgorithmBytes)}};
  if (cost.more.value(kBusiestWireBytes) > 0) {
    rates.emplace_back("wire_gb_per_s", gb_per_s(kBusiestWireBytes));
  }
  const double link = cost.more.value(kLinkGbitPerS);
  if (cost.more.value(kNetworkBytes) > 0 && link > 0) {
    rates.emplace_back("percent_of_rails", 100 * (8 * gb_per_s(kNetworkBytes)) / link);
  }
  return rates;
}

std::string collective_text(const Record& record) {
  const ByName<double>& rates = record.rates;
  if (!rates.contains("algbw_gb_per_s")) return "";
  const auto rate = [&rates](const char* name) { return format_rate(rates.value(name)); };
  std::string text = fmt::format("algbw {} GB/s", rate("algbw_gb_per_s"));
  if (rates.contains("wire_gb_per_s")) text += fmt::format(", wire {} GB/s", rate("wire_gb_per_s"));
  if (rates.contains("percent_of_rails")) {
    text += fmt::format(", {:.0f}% of rails", rates.value("percent_of_rails"));
  }
  if (rates.contains("wrong")) text += fmt::format(", wrong {:.0f}", rates.value("wrong"));
  const std::string* count = record.notes.find("count");
  return count != nullptr ? text + ", count " + *count : text;
}

const Workload& collective_workload() {
  static const Workload collective{collective_records(), collective_suites(), tuning_text};
  return collective;
}

}  // namespace duet
