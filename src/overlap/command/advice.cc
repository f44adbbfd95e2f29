#include "overlap/command/advice.h"

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "cli/measure.h"
#include "core/error.h"
#include "core/units.h"
#include "overlap/advisor/table_file.h"
#include "overlap/engines.h"
#include "results/record.h"
#include "results/writers/text_table.h"
#include "verdict/device_spec.h"

namespace duet {
namespace {

// A machine of a journal's environments; nullptr if there is none.
const MachineFacts* machine_named(const JournalContents& contents, const std::string& name) {
  for (const JournalRun& run : contents.runs) {
    for (const MachineFacts& machine : run.environment.machines) {
      if (machine.name == name) return &machine;
    }
  }
  return nullptr;
}

DeviceTable table_for(const MachineFacts& machine, const std::string& path) {
  if (machine.devices.empty()) throw UsageError(path + ": expected a machine with devices");
  const DeviceInfo& first = machine.devices.front();
  DeviceTable table;
  table.model = first.model;
  table.device = table_device(machine.virtual_time, machine.name, table.model);
  table.ranks = static_cast<int>(machine.devices.size());
  table.compute_units = first.compute_units;
  table.vendor = overlap_engine_names(first.kind).vendor;
  return table;
}

OverlapRow row_of(const Record& record) {
  const Finished finished = finished_of(record);
  return {finished.id, finished.median_seconds, {record.metrics.begin(), record.metrics.end()}};
}

bool of_overlap(const Record& record) {
  return record.id.benchmark == "overlap" || record.id.benchmark == "overlap_isolated";
}

std::string known(const std::vector<DeviceTable>& tables) {
  std::string text;
  for (const DeviceTable& each : tables) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", each.ranks, each.device);
  }
  return text.empty() ? "none" : text;
}

constexpr const char* kTextIndent = "  ";

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

}  // namespace

DevicePeaks peaks_of(const std::string& model) {
  DevicePeaks peaks;
  const DeviceSpec* spec = find_device_spec(model);
  if (spec == nullptr) return peaks;
  for (const auto& [dtype, tflops] : spec->tflops) peaks.flop_per_s[dtype] = tflops * 1e12;
  peaks.memory_bytes_per_s = spec->memory_gb_per_s * 1e9;
  if (spec->link) peaks.link_bytes_per_s = spec->link->gb_per_s * 1e9;
  return peaks;
}

JournalRows rows_of(const std::string& path) {
  const JournalContents contents = load_journal(path);
  JournalRows result;
  std::string machine;
  for (const Record* record : results_that_count(contents.runs)) {
    if (!of_overlap(*record)) continue;
    result.rows.push_back(row_of(*record));
    const std::string& device = result.rows.back().id.device;
    if (machine.empty()) machine = device;
    if (machine == device) continue;
    throw UsageError(
        fmt::format("{}: expected figures of one machine, not {} and {}", path, machine, device));
  }
  if (machine.empty()) throw UsageError(path + ": expected figures of duet overlap");
  const MachineFacts* entry = machine_named(contents, machine);
  if (entry == nullptr) throw UsageError(fmt::format("{}: expected a table of {}", path, machine));
  result.device = table_for(*entry, path);
  return result;
}

DeviceTable read_table(const std::string& path, const std::string& device, int ranks) {
  if (ends_with(path, ".jsonl")) {
    const JournalRows found = rows_of(path);
    DeviceTable table = found.device;
    add_rows(table, found.rows);
    if (device.empty() || (table.device == device && table.ranks == ranks)) return table;
    throw UsageError(fmt::format("{}: measured on {} x {}: expected {} x {}", path, table.ranks,
                                 table.device, ranks, device));
  }
  const TableFile file(path);
  if (device.empty() && file.tables().size() == 1) return file.tables().front();
  const DeviceTable* found = file.find(device, ranks);
  if (found != nullptr) return *found;
  const std::string expected =
      device.empty() ? "one, or --device to choose"
                     : fmt::format("{} x {} (duet advise --measure makes it)", ranks, device);
  throw UsageError(
      fmt::format("table file {}: it has {}: expected {}", path, known(file.tables()), expected));
}

DeviceTable measure_table(const std::string& device, ProbeOptions options,
                          const OutputFlags& output, const std::vector<std::string>& line) {
  RunPlan plan;
  plan.machines = open_machines({device});
  Machine& machine = *plan.machines.front();
  options.device_name = machine.name();
  DeviceTable table = empty_table(machine);
  options.peaks = peaks_of(table.model);
  std::vector<OverlapRow> rows;
  for (const auto make : {isolated_probes, pair_probes}) {
    Benchmark benchmark = make(machine, options, interrupted);
    collect_rows(benchmark, rows);
    add_job(plan, machine, std::move(benchmark));
  }
  if (measure(plan, output, line) != 0) {
    throw Error("no table: expected every case to be measured or skipped");
  }
  add_rows(table, rows);
  return table;
}

std::string advice_text(const OverlapScenario& scenario, const DeviceTable& table,
                        const Advice& advice) {
  std::string text = fmt::format(
      "{} beside {} of {} on {} x {}\n", name(scenario.compute), name(scenario.communication),
      format_bytes(bytes_of(scenario.communication)), table.ranks, table.device);
  text += fmt::format("advised: {}, {} expected\n", name(advice.policy),
                      format_seconds(advice.seconds));
  text += fmt::format("because: {}\n\n", advice.why);
  std::vector<std::vector<std::string>> rows;
  for (const PolicyForecast& each : advice.forecasts) {
    rows.push_back({name(each.policy), each.engine, format_seconds(each.compute),
                    format_seconds(each.communication), fmt::format("{:.2f}", each.loss),
                    fmt::format("{:.2f}", each.slowdown), format_seconds(each.together),
                    std::to_string(each.units)});
  }
  return text + duet::table({{"policy"},
                             {"engine"},
                             {"GEMM", Align::right},
                             {"collective", Align::right},
                             {"loss", Align::right},
                             {"slowdown", Align::right},
                             {"together", Align::right},
                             {"units", Align::right}},
                            rows, kTextIndent);
}

std::string score_text(const Score& score) {
  std::vector<std::vector<std::string>> rows;
  for (const ScenarioScore& each : score.scenarios) {
    rows.push_back({each.scenario, each.advised, format_seconds(each.forecast_seconds),
                    format_seconds(each.advised_seconds), each.best,
                    format_seconds(each.best_seconds), percent(each.loss())});
  }
  return table({{"scenario"},
                {"advised"},
                {"forecast", Align::right},
                {"measured", Align::right},
                {"best"},
                {"measured", Align::right},
                {"loss", Align::right}},
               rows, kTextIndent) +
         fmt::format("\nright (within 1% of the best) in {} of {}, worst loss {}\n", score.right(),
                     score.scenarios.size(), percent(score.worst_loss()));
}

}  // namespace duet
