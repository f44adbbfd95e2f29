#include "results/record_check.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "results/fields.h"

namespace duet {
namespace {

const Fields kFigures = {{"median", Kind::amount}, {"mean", Kind::amount},   {"min", Kind::amount},
                         {"p5", Kind::amount},     {"p95", Kind::amount},    {"p99", Kind::amount},
                         {"ci_low", Kind::amount}, {"ci_high", Kind::amount}};
const Fields kCost = {
    {"flop", Kind::amount}, {"memory_bytes", Kind::amount}, {"wire_bytes", Kind::amount}};
const Fields kCollectiveCost = {{"algorithm_bytes", Kind::amount},
                                {"bus_bytes", Kind::amount},
                                {"busiest_wire_bytes", Kind::amount}};
const Fields kNetworkCost = {{"network_bytes", Kind::amount}, {"link_gbit_per_s", Kind::amount}};
const Fields kSampling = {{"seconds", Kind::object}, {"cost", Kind::object},
                          {"mode", Kind::text},      {"flushed", Kind::truth},
                          {"verified", Kind::truth}, {"rates", Kind::object},
                          {"notes", Kind::notes}};
const Fields kMaybe = {
    {"seconds", Kind::object}, {"cost", Kind::object},     {"mode", Kind::text},
    {"flushed", Kind::truth},  {"verified", Kind::truth},  {"rates", Kind::object},
    {"notes", Kind::notes},    {"warm_ups", Kind::whole},  {"telemetry", Kind::object},
    {"warnings", Kind::texts}, {"samples", Kind::amounts}, {"metrics", Kind::object},
    {"load", Kind::object}};
const Fields kDevice = {
    {"kind", Kind::text},         {"model", Kind::text},          {"bus", Kind::text},
    {"numa_node", Kind::whole},   {"compute_units", Kind::whole}, {"memory_bytes", Kind::bytes},
    {"cache_bytes", Kind::bytes}, {"copy_engines", Kind::whole},  {"priorities", Kind::whole},
    {"details", Kind::notes}};
const Fields kLink = {{"kind", Kind::text},
                      {"count", Kind::whole},
                      {"gb_per_s", Kind::amount},
                      {"peer_access", Kind::truth}};
const Fields kRun = {
    {"duet", Kind::text},       {"revision", Kind::text},    {"command", Kind::text},
    {"time_utc", Kind::text},   {"host", Kind::object},      {"libraries", Kind::notes},
    {"variables", Kind::notes}, {"telemetry", Kind::object}, {"load", Kind::object}};
const Fields kHost = {
    {"name", Kind::text},     {"system", Kind::text},        {"kernel", Kind::text},
    {"cpu", Kind::text},      {"sockets", Kind::whole},      {"cores", Kind::whole},
    {"threads", Kind::whole}, {"memory_bytes", Kind::bytes}, {"numa", Kind::list}};

// Calls `check` with each object of the list `key` and its path: "links[2].". The list may be
// missing.
template <typename Check>
void each_object(const Record& parent, const std::string& at, const char* key, Check check) {
  if (!parent.contains(key)) return;
  require(parent, at, Field{key, Kind::list});
  std::size_t place = 0;
  for (const Record& one : parent[key]) {
    const std::string here = fmt::format("{}{}[{}]", at, key, place++);
    if (!one.is_object()) throw Error(fmt::format("\"{}\": expected an object", here));
    check(one, here + ".");
  }
}

void check_telemetry(const Record& telemetry, const std::string& at) {
  allow(telemetry, at,
        {{"readings", Kind::bytes},
         {"watts_limit", Kind::number},
         {"joules", Kind::number},
         {"throttle", Kind::texts}});
  for (const char* quantity : {"watts", "compute_mhz", "memory_mhz", "celsius"}) {
    if (!telemetry.contains(quantity)) continue;
    require(telemetry, at, Field{quantity, Kind::object});
    require_all(telemetry[quantity], at + quantity + ".",
                {{"mean", Kind::number}, {"min", Kind::number}, {"max", Kind::number}});
  }
}

void check_load(const Record& parent, const std::string& at) {
  if (!parent.contains("load")) return;
  allow(parent["load"], at + "load.",
        {{"average", Kind::amount}, {"others", Kind::amount}, {"steal", Kind::amount}});
}

void check_seconds(const Record& seconds) {
  require_all(seconds, "seconds.", kFigures);
  require(seconds, "seconds.", Field{"n", Kind::whole});
  allow(seconds, "seconds.", {{"stopped_by", Kind::text}, {"widening", Kind::amount}});
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
    require_all(record, "", {{"rates", Kind::object}, {"notes", Kind::notes}});
  }
  allow(record, "", kMaybe);
  if (record.contains("seconds")) check_seconds(record["seconds"]);
  if (record.contains("cost")) {
    require_all(record["cost"], "cost.", kCost);
    allow(record["cost"], "cost.", kCollectiveCost);
    allow(record["cost"], "cost.", kNetworkCost);
  }
  if (record.contains("telemetry")) check_telemetry(record["telemetry"], "telemetry.");
  check_load(record, "");
  each_object(record, "", "timeline", [](const Record& rank, const std::string& at) {
    require_all(rank, at, {{"compute", Kind::span}, {"communication", Kind::span}});
  });
  for (const char* object : {"rates", "metrics"}) {
    if (!record.contains(object)) continue;
    for (const auto& [name, value] : record[object].items()) {
      if (is(value, Kind::number)) continue;
      throw Error(fmt::format("\"{}.{}\": expected a number", object, name));
    }
  }
}

void check_machine(const Record& machine, const std::string& at) {
  require(machine, at, Field{"name", Kind::text});
  allow(machine, at, {{"virtual_time", Kind::truth}});
  std::size_t devices = 0;
  each_object(machine, at, "devices", [&](const Record& device, const std::string& here) {
    require(device, here, Field{"name", Kind::text});
    allow(device, here, kDevice);
    ++devices;
  });
  each_object(machine, at, "links", [&](const Record& link, const std::string& here) {
    for (const char* end : {"from", "to"}) {
      require(link, here, Field{end, Kind::whole});
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
      allow(node, at, {{"node", Kind::whole}, {"cores", Kind::whole}});
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
    require(record, "", Field{"machines", Kind::list});
    each_object(record, "", "machines", check_machine);
    allow(record, "", {{"run", Kind::object}, {"processes", Kind::whole}});
    if (record.contains("run")) check_run(record["run"]);
  } else if (record["type"] == "end") {
    allow(record, "", {{"time_utc", Kind::text}, {"load", Kind::object}});
    check_load(record, "");
  } else {
    throw Error(fmt::format("unknown type {}: expected \"environment\", \"result\" or \"end\"",
                            record["type"].dump()));
  }
}

}  // namespace duet
