#include "results/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/names.h"
#include "results/rates.h"
#include "results/telemetry_summary.h"
#include "timing/statistics.h"

namespace duet {
namespace {

constexpr NamedValue<Outcome> kOutcomes[] = {{Outcome::measured, "measured"},
                                             {Outcome::derived, "derived"},
                                             {Outcome::skipped, "skipped"},
                                             {Outcome::wrong, "wrong"},
                                             {Outcome::failed, "failed"}};

Record axes_to_json(const Axes& axes) {
  Record out = Record::object();
  for (const auto& [axis, value] : axes) {
    std::visit([&, &key = axis](const auto& v) { out[key] = v; }, value);
  }
  return out;
}

constexpr auto kLargestAxis = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

AxisValue axis_from_json(const Record& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > kLargestAxis) {
    throw Error("above 2^63 - 1");
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_array()) return value.get<std::vector<std::string>>();
  return value.get<std::string>();
}

Record start(const CaseId& id) {
  Record record;
  record["type"] = "result";
  record["schema"] = kJournalSchema;
  record["benchmark"] = id.benchmark;
  record["device"] = id.device;
  record["engine"] = id.engine;
  record["case"] = axes_to_json(id.axes);
  return record;
}

// Rounds to nine significant digits. Clocks are less exact. Rounding errors of virtual time are
// below the ninth digit, so a simulated run writes the same journal on every machine.
double rounded(double value) { return std::strtod(fmt::format("{:.9g}", value).c_str(), nullptr); }

std::vector<double> rounded_list(std::vector<double> values) {
  std::transform(values.begin(), values.end(), values.begin(), rounded);
  return values;
}

Record seconds_to_json(const Summary& s, const std::string& stopped_by) {
  Record seconds = {{"median", rounded(s.median)},     {"mean", rounded(s.mean)},
                    {"min", rounded(s.min)},           {"p5", rounded(s.p5)},
                    {"p95", rounded(s.p95)},           {"p99", rounded(s.p99)},
                    {"ci_low", rounded(s.ci_low)},     {"ci_high", rounded(s.ci_high)},
                    {"widening", rounded(s.widening)}, {"n", s.n},
                    {"stopped_by", stopped_by}};
  if (!s.bounded) seconds["bounded"] = false;
  return seconds;
}

void add_sampling(Record& record, const Sampling& sampling) {
  record["seconds"] = seconds_to_json(summarise(sampling.samples), sampling.stopped_by);
  record["mode"] = sampling.mode;
  record["warm_ups"] = sampling.warm_ups;
  record["flushed"] = sampling.flushed;
  record["verified"] = sampling.verified;
  if (!sampling.telemetry.empty()) record["telemetry"] = telemetry_to_json(sampling.telemetry);
}

void add_training_cost(Record& record, const Cost& cost) {
  if (cost.tokens > 0) record["tokens"] = cost.tokens;
  if (cost.samples > 0) record["samples"] = cost.samples;
}

void add_halo_cost(Record& record, const Cost& cost) {
  if (cost.points > 0) record["points"] = cost.points;
}

void add_network_cost(Record& record, const Cost& cost) {
  if (cost.network_bytes <= 0) return;
  record["network_bytes"] = cost.network_bytes;
  record["link_gbit_per_s"] = cost.link_gbit_per_s;
}

void add_collective_cost(Record& record, const Cost& cost) {
  if (cost.algorithm_bytes <= 0) return;
  record["algorithm_bytes"] = cost.algorithm_bytes;
  record["bus_bytes"] = cost.bus_bytes;
  if (cost.busiest_wire_bytes > 0) record["busiest_wire_bytes"] = cost.busiest_wire_bytes;
}

void add_rates(Record& record, const Measurement& measurement) {
  Record rates = Record::object();
  if (measurement.sampling) {
    const double median = record["seconds"]["median"].get<double>();
    for (const auto& [rate, value] : rates_from(measurement.cost, median))
      rates[rate] = rounded(value);
  }
  for (const auto& [rate, value] : measurement.rates) rates[rate] = rounded(value);
  record["rates"] = rates;
  for (const auto& [metric, value] : measurement.metrics)
    record["metrics"][metric] = rounded(value);
}

const Record& field(const Record& record, const char* key) {
  const auto found = record.find(key);
  if (found == record.end()) throw Error(std::string("the record has no \"") + key + "\"");
  return *found;
}

// The messages of the JSON library have exception ids but do not name the field.
template <typename T>
T get(const Record& record, const char* key) {
  try {
    return field(record, key).get<T>();
  } catch (const nlohmann::json::exception&) {
    throw Error(std::string("\"") + key + "\" is of another type than it should be");
  }
}

Record span_to_json(const PairSpan& span) { return {rounded(span.begin), rounded(span.end)}; }

Record timeline_to_json(const std::vector<RankTimeline>& timeline) {
  Record ranks = Record::array();
  for (const RankTimeline& rank : timeline) {
    ranks.push_back({{"compute", span_to_json(rank.compute)},
                     {"communication", span_to_json(rank.communication)}});
  }
  return ranks;
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

// nullptr if the record has none.
const Record* axis_of(const Record& record, const char* name) {
  const auto axes = record.find("case");
  if (axes == record.end() || !axes->is_object()) return nullptr;
  const auto found = axes->find(name);
  return found == axes->end() ? nullptr : &*found;
}

}  // namespace

const char* name(Outcome outcome) { return name_of(kOutcomes, outcome); }

Record make_record(const Measurement& measurement) {
  Record record = start(measurement.id);
  std::vector<std::string> warnings = measurement.warnings;
  if (measurement.skipped) {
    record["outcome"] = name(Outcome::skipped);
    record["skipped"] = {{"reason", measurement.skipped->reason}};
  } else {
    const bool measured = measurement.sampling.has_value();
    record["outcome"] = name(measured ? Outcome::measured : Outcome::derived);
    if (measured) add_sampling(record, *measurement.sampling);
    add_rates(record, measurement);
    if (measured) {
      const auto& more = measurement.sampling->warnings;
      warnings.insert(warnings.end(), more.begin(), more.end());
      record["cost"] = {{"flop", measurement.cost.flop},
                        {"memory_bytes", measurement.cost.memory_bytes},
                        {"wire_bytes", measurement.cost.wire_bytes}};
      add_collective_cost(record["cost"], measurement.cost);
      add_network_cost(record["cost"], measurement.cost);
      add_training_cost(record["cost"], measurement.cost);
      add_halo_cost(record["cost"], measurement.cost);
    }
    if (!measurement.timeline.empty()) record["timeline"] = timeline_to_json(measurement.timeline);
  }
  Record notes = Record::object();
  for (const auto& [note, text] : measurement.notes) notes[note] = text;
  record["notes"] = notes;
  record["warnings"] = warnings;
  // Last, because they are long and would hide the other fields of the raw line.
  if (measurement.sampling && !measurement.skipped) {
    for (const auto& [name, values] : measurement.curves) {
      record["curves"][name] = rounded_list(values);
    }
    record["samples"] = rounded_list(measurement.sampling->samples);
  }
  return record;
}

Record make_record(const CaseId& id, const Failure& failure) {
  Record record = start(id);
  record["outcome"] = name(failure.wrong ? Outcome::wrong : Outcome::failed);
  record["failed"] = {{"reason", failure.message}};
  return record;
}

Outcome outcome_of(const Record& record) {
  const auto text = get<std::string>(record, "outcome");
  for (const Outcome outcome : values_in(kOutcomes)) {
    if (text == name(outcome)) return outcome;
  }
  throw Error("\"outcome\" is \"" + text + "\", which this version does not know");
}

CaseId case_of(const Record& record) {
  CaseId id;
  id.benchmark = get<std::string>(record, "benchmark");
  id.device = get<std::string>(record, "device");
  id.engine = get<std::string>(record, "engine");
  const Record& axes = field(record, "case");
  if (!axes.is_object()) throw Error("\"case\" is not an object");
  for (const auto& [axis, value] : axes.items()) {
    try {
      id.axes.set(axis, axis_from_json(value));
    } catch (const nlohmann::json::exception&) {
      throw Error("axis \"" + axis + "\" is neither a number, a word nor a list of words");
    } catch (const Error& error) {
      throw Error("axis \"" + axis + "\" is " + error.what());
    }
  }
  return id;
}

Finished finished_of(const Record& record) {
  Finished finished;
  finished.id = as_of_today(case_of(record));
  if (outcome_of(record) != Outcome::measured) return finished;
  const Record& seconds = field(record, "seconds");
  finished.median_seconds = get<double>(seconds, "median");
  finished.low_seconds = finished.high_seconds = finished.median_seconds;
  finished.metrics = metrics_of(record);
  if (seconds.contains("ci_low")) finished.low_seconds = get<double>(seconds, "ci_low");
  if (seconds.contains("ci_high")) finished.high_seconds = get<double>(seconds, "ci_high");
  const Record& cost = field(record, "cost");
  finished.cost.flop = get<double>(cost, "flop");
  finished.cost.memory_bytes = get<double>(cost, "memory_bytes");
  finished.cost.wire_bytes = get<double>(cost, "wire_bytes");
  const std::pair<const char*, double*> some[] = {
      {"algorithm_bytes", &finished.cost.algorithm_bytes},
      {"bus_bytes", &finished.cost.bus_bytes},
      {"busiest_wire_bytes", &finished.cost.busiest_wire_bytes},
      {"network_bytes", &finished.cost.network_bytes},
      {"link_gbit_per_s", &finished.cost.link_gbit_per_s},
      {"tokens", &finished.cost.tokens},
      {"samples", &finished.cost.samples},
      {"points", &finished.cost.points}};
  for (const auto& [key, amount] : some) {
    if (cost.contains(key)) *amount = get<double>(cost, key);
  }
  return finished;
}

std::map<std::string, double> metrics_of(const Record& record) {
  std::map<std::string, double> metrics;
  if (!record.contains("metrics")) return metrics;
  for (const auto& [name, value] : record["metrics"].items()) {
    if (value.is_number()) metrics[name] = value.get<double>();
  }
  return metrics;
}

std::string reason_of(const Record& record) {
  for (const char* key : {"skipped", "failed"}) {
    if (record.contains(key)) return get<std::string>(record[key], "reason");
  }
  return "";
}

std::string case_key(const CaseId& id) {
  return Record{id.benchmark, id.device, id.engine, as_of_today(id).axes.key()}.dump();
}

std::string axis_word(const Record& record, const char* name) {
  const Record* value = axis_of(record, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

double axis_number(const Record& record, const char* name) {
  const Record* value = axis_of(record, name);
  return value != nullptr && value->is_number() ? value->get<double>() : 0;
}

bool axis_true(const Record& record, const char* name) {
  const Record* value = axis_of(record, name);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

std::string axis_text(const AxisValue& value) {
  if (const auto* words = std::get_if<std::vector<std::string>>(&value)) {
    std::string text;
    for (const std::string& word : *words) text += (text.empty() ? "" : ",") + word;
    return text;
  }
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  return std::visit([](const auto& v) { return Record(v).dump(); }, value);
}

}  // namespace duet
