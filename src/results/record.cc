#include "results/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/names.h"
#include "results/rates.h"

namespace duet {
namespace {

constexpr NamedValue<Outcome> kOutcomes[] = {{Outcome::measured, "measured"},
                                             {Outcome::derived, "derived"},
                                             {Outcome::skipped, "skipped"},
                                             {Outcome::wrong, "wrong"},
                                             {Outcome::failed, "failed"}};

// Rounds to nine significant digits. Clocks are less exact. Rounding errors of virtual time are
// below the ninth digit, so a simulated run writes the same journal on every machine.
double rounded(double value) { return std::strtod(fmt::format("{:.9g}", value).c_str(), nullptr); }

std::vector<double> rounded(std::vector<double> values) {
  for (double& value : values) value = rounded(value);
  return values;
}

WorkSpan rounded(const WorkSpan& span) { return {rounded(span.begin), rounded(span.end)}; }

Seconds seconds_of(const Sampling& sampling) {
  Seconds seconds{summarise(sampling.samples), sampling.stopped_by};
  for (double* value : {&seconds.median, &seconds.mean, &seconds.min, &seconds.p5, &seconds.p95,
                        &seconds.p99, &seconds.ci_low, &seconds.ci_high, &seconds.widening}) {
    *value = rounded(*value);
  }
  return seconds;
}

void add_sampling(Record& record, const Measurement& measurement) {
  const Sampling& sampling = *measurement.sampling;
  record.seconds = seconds_of(sampling);
  record.mode = sampling.mode;
  record.warm_ups = sampling.warm_ups;
  record.flushed = sampling.flushed;
  record.verified = sampling.verified;
  if (!sampling.telemetry.empty()) record.telemetry = summary_of(sampling.telemetry);
  record.cost = measurement.cost;
  record.warnings.insert(record.warnings.end(), sampling.warnings.begin(), sampling.warnings.end());
  for (const auto& [rate, value] :
       rates_of(measurement.id.benchmark, measurement.cost, record.seconds.median)) {
    record.rates.set(rate, rounded(value));
  }
  for (const auto& [curve, values] : measurement.curves) record.curves.set(curve, rounded(values));
  record.samples = rounded(sampling.samples);
}

// In older journals of overlap, `in_place` is not an axis: the scenario's name ends in " in place".
CaseId as_of_today(CaseId id) {
  constexpr std::string_view kInPlace = " in place";
  const auto scenario = id.axes.text("scenario");
  if (!scenario || id.axes.find("in_place") != nullptr) return id;
  const std::size_t rest = scenario->size() - std::min(scenario->size(), kInPlace.size());
  const bool in_place = scenario->compare(rest, std::string::npos, kInPlace) == 0;
  if (in_place) id.axes.set("scenario", scenario->substr(0, rest));
  id.axes.set("in_place", in_place);
  return id;
}

struct Sensor {
  double Telemetry::*value;
  std::optional<ValueRange> TelemetrySummary::*range;
};

constexpr Sensor kSensors[] = {{&Telemetry::watts, &TelemetrySummary::watts},
                               {&Telemetry::compute_mhz, &TelemetrySummary::compute_mhz},
                               {&Telemetry::memory_mhz, &TelemetrySummary::memory_mhz},
                               {&Telemetry::celsius, &TelemetrySummary::celsius}};

}  // namespace

const char* name(Outcome outcome) { return name_of(kOutcomes, outcome); }

TelemetrySummary summary_of(const std::vector<Telemetry>& readings) {
  TelemetrySummary summary;
  summary.readings = readings.size();
  if (readings.empty()) return summary;
  for (const auto& [value, range] : kSensors) {
    double sum = 0, low = readings.front().*value, high = low;
    for (const Telemetry& reading : readings) {
      sum += reading.*value;
      low = std::min(low, reading.*value);
      high = std::max(high, reading.*value);
    }
    if (high > 0) {
      summary.*range = ValueRange{sum / static_cast<double>(readings.size()), low, high};
    }
  }
  const Telemetry& last = readings.back();
  if (last.watts_limit > 0) summary.watts_limit = last.watts_limit;
  const double joules = last.joules - readings.front().joules;
  if (joules > 0) summary.joules = joules;
  for (const Telemetry& reading : readings) {
    auto& seen = summary.throttle;
    const bool known = std::find(seen.begin(), seen.end(), reading.throttle) != seen.end();
    if (!reading.throttle.empty() && !known) seen.push_back(reading.throttle);
  }
  return summary;
}

Record make_record(const Measurement& measurement) {
  Record record;
  record.id = measurement.id;
  record.notes = ByName<std::string>(measurement.notes);
  record.warnings = measurement.warnings;
  if (measurement.skipped) {
    record.outcome = Outcome::skipped;
    record.reason = measurement.skipped->reason;
    return record;
  }
  record.outcome = measurement.sampling ? Outcome::measured : Outcome::derived;
  if (measurement.sampling) add_sampling(record, measurement);
  for (const auto& [rate, value] : measurement.rates) record.rates.set(rate, rounded(value));
  for (const auto& [metric, value] : measurement.metrics) {
    record.metrics.set(metric, rounded(value));
  }
  for (const RankTimeline& rank : measurement.timeline) {
    RankTimeline& own = record.timeline.emplace_back(rank);
    for (WorkSpan* span : {&own.compute, &own.communication}) *span = rounded(*span);
    if (own.also) own.also = rounded(*own.also);
  }
  return record;
}

Record make_record(const CaseId& id, const Failure& failure) {
  Record record;
  record.id = id;
  record.outcome = failure.wrong ? Outcome::wrong : Outcome::failed;
  record.reason = failure.message;
  return record;
}

Finished finished_of(const Record& record) {
  Finished finished;
  finished.id = as_of_today(record.id);
  if (record.outcome != Outcome::measured) return finished;
  finished.median_seconds = record.seconds.median;
  finished.cost = record.cost;
  finished.low_seconds = record.seconds.ci_low;
  finished.high_seconds = record.seconds.ci_high;
  finished.metrics = {record.metrics.begin(), record.metrics.end()};
  return finished;
}

std::string case_key(const CaseId& id) {
  return nlohmann::json{id.benchmark, id.device, id.engine, as_of_today(id).axes.key()}.dump();
}

CaseId case_of_key(const std::string& key) {
  const auto json = nlohmann::json::parse(key, nullptr, /*allow_exceptions=*/false);
  const bool texts =
      json.is_array() && json.size() == 4 &&
      std::all_of(json.begin(), json.end(), [](const auto& e) { return e.is_string(); });
  if (!texts) throw BadArgument("expected a key of a case");
  return {json[0], json[1], json[2], Axes::from_key(json[3].get<std::string>())};
}

std::string axis_word(const CaseId& id, std::string_view name) {
  return id.axes.text(name).value_or("");
}

double axis_number(const CaseId& id, std::string_view name) {
  const AxisValue* value = id.axes.find(name);
  if (value == nullptr) return 0;
  if (const auto* whole = std::get_if<std::int64_t>(value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(value);
  return real != nullptr ? *real : 0;
}

bool axis_true(const CaseId& id, std::string_view name) {
  return id.axes.flag(name).value_or(false);
}

std::string axis_text(const AxisValue& value) {
  if (const auto* words = std::get_if<std::vector<std::string>>(&value)) {
    std::string text;
    for (const std::string& word : *words) text += (text.empty() ? "" : ",") + word;
    return text;
  }
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  return std::visit([](const auto& v) { return nlohmann::json(v).dump(); }, value);
}

std::string number_text(double value) { return nlohmann::json(value).dump(); }

}  // namespace duet
