#include "results/record_check.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "results/fields.h"

namespace duet {
namespace {

const Fields kFigures = {{"median", FieldKind::amount}, {"mean", FieldKind::amount},
                         {"min", FieldKind::amount},    {"p5", FieldKind::amount},
                         {"p95", FieldKind::amount},    {"p99", FieldKind::amount},
                         {"ci_low", FieldKind::amount}, {"ci_high", FieldKind::amount}};
const Fields kCost = {{"flop", FieldKind::amount},
                      {"memory_bytes", FieldKind::amount},
                      {"wire_bytes", FieldKind::amount}};
const Fields kCollectiveCost = {{"algorithm_bytes", FieldKind::amount},
                                {"bus_bytes", FieldKind::amount},
                                {"busiest_wire_bytes", FieldKind::amount}};
const Fields kNetworkCost = {{"network_bytes", FieldKind::amount},
                             {"link_gbit_per_s", FieldKind::amount}};
const Fields kTrainingCost = {{"tokens", FieldKind::amount}, {"samples", FieldKind::amount}};
const Fields kHaloCost = {{"points", FieldKind::amount}};
const Fields kSampling = {{"seconds", FieldKind::object}, {"cost", FieldKind::object},
                          {"mode", FieldKind::text},      {"flushed", FieldKind::truth},
                          {"verified", FieldKind::truth}, {"rates", FieldKind::object},
                          {"notes", FieldKind::notes}};
const Fields kMaybe = {{"seconds", FieldKind::object},   {"cost", FieldKind::object},
                       {"mode", FieldKind::text},        {"flushed", FieldKind::truth},
                       {"verified", FieldKind::truth},   {"rates", FieldKind::object},
                       {"notes", FieldKind::notes},      {"warm_ups", FieldKind::whole},
                       {"telemetry", FieldKind::object}, {"warnings", FieldKind::texts},
                       {"samples", FieldKind::amounts},  {"metrics", FieldKind::object},
                       {"load", FieldKind::object},      {"curves", FieldKind::object}};
const Fields kDevice = {{"kind", FieldKind::text},
                        {"model", FieldKind::text},
                        {"bus", FieldKind::text},
                        {"numa_node", FieldKind::whole},
                        {"compute_units", FieldKind::whole},
                        {"memory_bytes", FieldKind::bytes},
                        {"cache_bytes", FieldKind::bytes},
                        {"copy_engines", FieldKind::whole},
                        {"priorities", FieldKind::whole},
                        {"details", FieldKind::notes}};
const Fields kLink = {{"kind", FieldKind::text},
                      {"count", FieldKind::whole},
                      {"gb_per_s", FieldKind::amount},
                      {"peer_access", FieldKind::truth}};
const Fields kRun = {{"duet", FieldKind::text},       {"revision", FieldKind::text},
                     {"command", FieldKind::text},    {"time_utc", FieldKind::text},
                     {"host", FieldKind::object},     {"libraries", FieldKind::notes},
                     {"variables", FieldKind::notes}, {"telemetry", FieldKind::object},
                     {"load", FieldKind::object}};
const Fields kHost = {
    {"name", FieldKind::text},     {"system", FieldKind::text},        {"kernel", FieldKind::text},
    {"cpu", FieldKind::text},      {"sockets", FieldKind::whole},      {"cores", FieldKind::whole},
    {"threads", FieldKind::whole}, {"memory_bytes", FieldKind::bytes}, {"numa", FieldKind::list}};

// Calls `check` with each object of the list `key` and its path: "links[2].". The list may be
// missing.
template <typename Check>
void each_object(const Record& parent, const std::string& at, const char* key, Check check) {
  if (!parent.contains(key)) return;
  require(parent, at, Field{key, FieldKind::list});
  std::size_t place = 0;
  for (const Record& one : parent[key]) {
    const std::string here = fmt::format("{}{}[{}]", at, key, place++);
    if (!one.is_object()) throw Error(fmt::format("\"{}\": expected an object", here));
    check(one, here + ".");
  }
}

void check_telemetry(const Record& telemetry, const std::string& at) {
  allow(telemetry, at,
        {{"readings", FieldKind::bytes},
         {"watts_limit", FieldKind::number},
         {"joules", FieldKind::number},
         {"throttle", FieldKind::texts}});
  for (const char* quantity : {"watts", "compute_mhz", "memory_mhz", "celsius"}) {
    if (!telemetry.contains(quantity)) continue;
    require(telemetry, at, Field{quantity, FieldKind::object});
    require_all(
        telemetry[quantity], at + quantity + ".",
        {{"mean", FieldKind::number}, {"min", FieldKind::number}, {"max", FieldKind::number}});
  }
}

void check_load(const Record& parent, const std::string& at) {
  if (!parent.contains("load")) return;
  allow(parent["load"], at + "load.",
        {{"average", FieldKind::amount},
         {"others", FieldKind::amount},
         {"steal", FieldKind::amount}});
}

void check_seconds(const Record& seconds) {
  require_all(seconds, "seconds.", kFigures);
  require(seconds, "seconds.", Field{"n", FieldKind::whole});
  allow(seconds, "seconds.", {{"stopped_by", FieldKind::text}, {"widening", FieldKind::amount}});
  if (seconds["n"] < 1) throw Error("\"seconds.n\": expected 1 or more");
  if (seconds["ci_low"] > seconds["ci_high"]) {
    throw Error("\"seconds.ci_low\" is above \"seconds.ci_high\"");
  }
}

void check_result(const Record& record) {
  case_of(record);
  const Outcome outcome = outcome_of(record);
  reason_of(record);
  if (outcome == Outcome::measured) require_all(record, "", kSampling);
  if (outcome == Outcome::derived) {
    require_all(record, "", {{"rates", FieldKind::object}, {"notes", FieldKind::notes}});
  }
  allow(record, "", kMaybe);
  if (record.contains("seconds")) check_seconds(record["seconds"]);
  if (record.contains("cost")) {
    require_all(record["cost"], "cost.", kCost);
    allow(record["cost"], "cost.", kCollectiveCost);
    allow(record["cost"], "cost.", kNetworkCost);
    allow(record["cost"], "cost.", kTrainingCost);
    allow(record["cost"], "cost.", kHaloCost);
  }
  if (record.contains("telemetry")) check_telemetry(record["telemetry"], "telemetry.");
  check_load(record, "");
  each_object(record, "", "timeline", [](const Record& rank, const std::string& at) {
    require_all(rank, at, {{"compute", FieldKind::span}, {"communication", FieldKind::span}});
  });
  if (record.contains("curves")) {
    for (const auto& [name, values] : record["curves"].items()) {
      if (holds(values, FieldKind::numbers)) continue;
      throw Error(fmt::format("\"curves.{}\": expected a list of numbers", name));
    }
  }
  for (const char* object : {"rates", "metrics"}) {
    if (!record.contains(object)) continue;
    for (const auto& [name, value] : record[object].items()) {
      if (holds(value, FieldKind::number)) continue;
      throw Error(fmt::format("\"{}.{}\": expected a number", object, name));
    }
  }
}

void check_machine(const Record& machine, const std::string& at) {
  require(machine, at, Field{"name", FieldKind::text});
  allow(machine, at, {{"virtual_time", FieldKind::truth}});
  std::size_t devices = 0;
  each_object(machine, at, "devices", [&](const Record& device, const std::string& here) {
    require(device, here, Field{"name", FieldKind::text});
    allow(device, here, kDevice);
    ++devices;
  });
  each_object(machine, at, "links", [&](const Record& link, const std::string& here) {
    for (const char* end : {"from", "to"}) {
      require(link, here, Field{end, FieldKind::whole});
      if (link[end] < 0 || link[end] >= devices) {
        throw Error(
            fmt::format("\"{}{}\": expected the place of one of {} devices", here, end, devices));
      }
    }
    allow(link, here, kLink);
  });
}

void check_run(const Record& run) {
  allow(run, "run.", kRun);
  check_load(run, "run.");
  if (run.contains("host")) {
    allow(run["host"], "run.host.", kHost);
    each_object(run["host"], "run.host.", "numa", [](const Record& node, const std::string& at) {
      allow(node, at, {{"node", FieldKind::whole}, {"cores", FieldKind::whole}});
    });
  }
  if (!run.contains("telemetry")) return;
  for (const auto& [device, telemetry] : run["telemetry"].items()) {
    if (!telemetry.is_object()) {
      throw Error(fmt::format("\"run.telemetry.{}\": expected an object", device));
    }
    check_telemetry(telemetry, "run.telemetry." + device + ".");
  }
}

}  // namespace

void check_record(const Record& record) {
  if (!record.is_object() || !record.contains("type") || !record.contains("schema")) {
    throw Error("not a record: expected an object with \"type\" and \"schema\"");
  }
  if (record["schema"] != kJournalSchema) {
    throw Error(fmt::format("the record has schema {}, this version of duet reads schema {}",
                            record["schema"].dump(), kJournalSchema));
  }
  if (record["type"] == "result") {
    check_result(record);
  } else if (record["type"] == "environment") {
    require(record, "", Field{"machines", FieldKind::list});
    each_object(record, "", "machines", check_machine);
    allow(record, "", {{"run", FieldKind::object}, {"processes", FieldKind::whole}});
    if (record.contains("run")) check_run(record["run"]);
  } else if (record["type"] == "end") {
    allow(record, "", {{"time_utc", FieldKind::text}, {"load", FieldKind::object}});
    check_load(record, "");
  } else {
    throw Error(fmt::format("unknown type {}: expected \"environment\", \"result\" or \"end\"",
                            record["type"].dump()));
  }
}

}  // namespace duet
