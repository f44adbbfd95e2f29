#include "calibration/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "overlap/row.h"

namespace duet {
namespace {

// The clock of the device's units while a case ran, in MHz; 0: not known.
double megahertz(const Record& record) {
  const auto clock = record.telemetry ? record.telemetry->compute_mhz : std::nullopt;
  return clock ? clock->mean : 0;
}

void add_device(Evidence& evidence, const std::string& journal, const Environment& environment) {
  for (const MachineFacts& machine : environment.machines) {
    const std::vector<DeviceInfo>& devices = machine.devices;
    if (devices.empty()) continue;
    const std::string& model = devices.front().model;
    if (!evidence.model.empty() &&
        (evidence.model != model || evidence.devices != static_cast<int>(devices.size()))) {
      throw UsageError(fmt::format("{}: expected figures of {} x {}, as the others: it has {} x {}",
                                   journal, evidence.devices, evidence.model, devices.size(),
                                   model));
    }
    evidence.model = model;
    evidence.devices = static_cast<int>(devices.size());
    evidence.compute_units = devices.front().compute_units;
    const auto clock = devices.front().details.find("maximum compute clock");
    if (clock == devices.front().details.end() || clock->second.empty()) continue;
    evidence.full_megahertz = std::strtod(clock->second.c_str(), nullptr);
  }
}

// A whole number of a record that others count by.
int small(const OverlapRow& row, const std::string& axis) {
  constexpr int kMost = 1000000;
  const std::int64_t value = row.number(axis);
  if (value >= 0 && value <= kMost) return static_cast<int>(value);
  throw UsageError(fmt::format("{}: {} is {}: expected a whole number from 0 to {}",
                               row.id.benchmark, axis, value, kMost));
}

std::uint64_t bytes_of(const OverlapRow& row) {
  const std::int64_t value = row.number("bytes");
  if (value >= 0) return static_cast<std::uint64_t>(value);
  throw UsageError(fmt::format("{}: bytes is {}: expected 0 or more", row.id.benchmark, value));
}

void add_isolated(Evidence& evidence, const OverlapRow& row, const Record& record) {
  const int units = small(row, "units");
  const std::string work = row.word("work");
  if (row.word("side") == "compute") {
    evidence.gemms.push_back({parse_problem(work), units, row.seconds, megahertz(record)});
    return;
  }
  evidence.collectives.push_back({parse_collective(work), row.id.engine, bytes_of(row),
                                  small(row, "ranks"), units, row.seconds});
}

void add_energy(Evidence& evidence, const OverlapRow& row) {
  const auto joules = row.metrics.find("joules_per_gb");
  if (joules == row.metrics.end()) return;
  const double devices = std::max(1, small(row, "ranks"));
  evidence.idle_watts = row.metric("idle_watts") / devices;
  const auto cap = row.metrics.find("watts_limit");
  if (cap != row.metrics.end()) evidence.cap_watts = cap->second / devices;
  const OverlapPolicyKind kind = policy_of(row).kind;
  if (by_dma(kind)) evidence.dma_joules = joules->second / 1e9;
  if (kind == OverlapPolicyKind::priority || kind == OverlapPolicyKind::base) {
    evidence.kernel_joules = joules->second / 1e9;
  }
}

void add_copy(Evidence& evidence, const OverlapRow& row) {
  if (row.word("pattern") != "pair" || row.id.axes.flag("bidirectional").value_or(false)) return;
  evidence.copies.push_back(
      {row.word("kind"), row.word("executor"), row.word("issue"), bytes_of(row), row.seconds});
}

void add_collective(Evidence& evidence, const OverlapRow& row) {
  if (row.id.axes.flag("in_place").value_or(false)) return;
  evidence.collectives.push_back({parse_collective(row.word("collective")), row.id.engine,
                                  bytes_of(row), small(row, "ranks"), 0, row.seconds});
}

void add_result(Evidence& evidence, const Record& record) {
  const Finished finished = finished_of(record);
  const OverlapRow row{finished.id, finished.median_seconds, finished.metrics};
  if (row.seconds <= 0) return;
  if (row.id.benchmark == "overlap_isolated") return add_isolated(evidence, row, record);
  if (row.id.benchmark == "overlap") return add_energy(evidence, row);
  if (row.id.benchmark == "copy") return add_copy(evidence, row);
  if (row.id.benchmark == "collective") return add_collective(evidence, row);
}

}  // namespace

void add_evidence(Evidence& evidence, const std::string& journal,
                  const std::vector<JournalRun>& runs) {
  for (const JournalRun& run : runs) add_device(evidence, journal, run.environment);
  for (const Record* record : results_that_count(runs)) add_result(evidence, *record);
}

}  // namespace duet
