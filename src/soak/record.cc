#include "soak/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "timing/work.h"

namespace duet {
namespace {

constexpr const char *kRoundSeconds = "round_seconds", *kFlop = "flop", *kWireBytes = "wire_bytes",
                     *kWrongResults = "wrong_results", *kTflops = "gemm_tflops";
constexpr std::string_view kFaultNote = "fault ", kLimitNote = "throttle ";

CaseId case_of(const SoakRound& round, const std::string& machine) {
  const SoakRoundPlan& plan = round.plan;
  CaseId id{kSoakBenchmark, machine, round.engine, {}};
  id.axes.set("round", std::int64_t{round.round});
  id.axes.set("seed", static_cast<std::int64_t>(round.seed));
  id.axes.set("gemm", round.product);
  id.axes.set("host_bytes", static_cast<std::int64_t>(plan.host_bytes));
  if (plan.shift > 0) {
    id.axes.set("shift", std::int64_t{plan.shift});
    id.axes.set("executor", std::string(name(plan.executor)));
    id.axes.set("peer_bytes", static_cast<std::int64_t>(plan.peer_bytes));
  }
  if (plan.engine.empty()) return id;
  id.axes.set("collective", std::string(name(plan.collective.kind)));
  id.axes.set("by", plan.engine);
  id.axes.set("dtype", std::string(name(plan.collective.dtype)));
  id.axes.set("count", static_cast<std::int64_t>(plan.collective.count));
  return id;
}

bool is_wrong_data(const SoakFinding& finding) {
  return finding.fault == SoakFault::memory || finding.fault == SoakFault::link ||
         finding.fault == SoakFault::core || finding.fault == SoakFault::collective;
}

Measurement measurement_of(const SoakRound& round, const CaseId& id) {
  Measurement measurement;
  measurement.id = id;
  if (round.batches.empty()) return measurement;
  Sampling sampling;
  sampling.samples = round.batches;
  sampling.stopped_by = "time";
  sampling.mode = "soak";
  sampling.verified = true;
  if (!round.devices.empty()) sampling.telemetry = round.devices.front().readings;
  measurement.sampling = sampling;
  return measurement;
}

Record outcome_of(const SoakRound& round, const CaseId& id) {
  const auto wrong = std::find_if(round.findings.begin(), round.findings.end(), is_wrong_data);
  if (round.lost) {
    return make_record(id, Failure{false, text_of(round.findings.front())});
  }
  if (wrong != round.findings.end()) return make_record(id, Failure{true, text_of(*wrong)});
  Record record = make_record(measurement_of(round, id));
  for (const SoakFinding& each : round.findings) record.warnings.push_back(text_of(each));
  return record;
}

// A curve has a value for each device; it is left out where one is not known.
void add_sensors(Record& record, const SoakRound& round) {
  std::vector<double> watts, celsius, mhz;
  for (const WatchedDevice& device : round.devices) {
    const TelemetrySummary seen = summary_of(device.readings);
    if (seen.watts) watts.push_back(seen.watts->mean);
    if (seen.celsius) celsius.push_back(seen.celsius->max);
    if (seen.compute_mhz) mhz.push_back(seen.compute_mhz->mean);
  }
  const auto add = [&](const char* name, const std::vector<double>& values) {
    if (!values.empty() && values.size() == round.devices.size()) record.curves.set(name, values);
  };
  add("watts", watts);
  add("celsius", celsius);
  add("compute_mhz", mhz);
  for (const SoakCounter& counter : soak_counters()) {
    std::vector<double> growth;
    bool told = false;
    for (const WatchedDevice& device : round.devices) {
      const auto found = device.grown.find(counter.name);
      told = told || found != device.grown.end();
      growth.push_back(found != device.grown.end() ? static_cast<double>(found->second) : 0);
    }
    if (told) record.curves.set(counter.name, growth);
  }
}

}  // namespace

Record record_of(const SoakRound& round, const std::string& machine,
                 const std::vector<std::string>& devices) {
  Record record = outcome_of(round, case_of(round, machine));
  record.metrics.set(kRoundSeconds, round.seconds);
  record.metrics.set(kFlop, round.flop);
  record.metrics.set(kWireBytes, round.wire_bytes);
  record.metrics.set(kComparedBytes, round.compared_bytes);
  record.metrics.set(kWrongResults, round.wrong);
  record.curves.set(kTflops, round.tflops);
  if (!round.tflops.empty() && record.outcome == Outcome::measured) {
    record.rates.set("tflops", std::accumulate(round.tflops.begin(), round.tflops.end(), 0.0) /
                                   static_cast<double>(round.tflops.size()));
  }
  add_sensors(record, round);
  for (std::size_t i = 0; i < round.findings.size(); ++i) {
    record.notes.set(fmt::format("{}{}", kFaultNote, i + 1), text_of(round.findings[i]));
  }
  for (std::size_t i = 0; i < round.limits.size(); ++i) {
    if (!round.limits[i].empty()) {
      record.notes.set(std::string(kLimitNote) + devices.at(i), round.limits[i]);
    }
  }
  return record;
}

std::optional<SoakRound> soak_round_of(const Record& record,
                                       const std::vector<std::string>& devices) {
  const auto number = record.id.axes.number("round"), seed = record.id.axes.number("seed");
  constexpr std::int64_t kMostRounds = 1'000'000'000;
  if (record.id.benchmark != kSoakBenchmark || !number || !seed || *number < 1 ||
      *number > kMostRounds) {
    return std::nullopt;
  }
  SoakRound round;
  round.round = static_cast<int>(*number);
  round.seed = static_cast<std::uint64_t>(*seed);
  round.engine = record.id.engine;
  round.product = axis_word(record.id, "gemm");
  round.seconds = record.metrics.value(kRoundSeconds);
  round.flop = record.metrics.value(kFlop);
  round.wire_bytes = record.metrics.value(kWireBytes);
  round.compared_bytes = record.metrics.value(kComparedBytes);
  round.wrong = record.metrics.value(kWrongResults);
  round.tflops = record.curves.value(kTflops);
  round.lost = record.outcome == Outcome::failed;
  for (const auto& [key, text] : record.notes) {
    if (key.rfind(kFaultNote, 0) != 0) continue;
    if (auto finding = parse_soak_finding(text)) round.findings.push_back(std::move(*finding));
  }
  for (const std::string& device : devices) {
    round.limits.push_back(record.notes.value(std::string(kLimitNote) + device));
  }
  return round;
}

}  // namespace duet
