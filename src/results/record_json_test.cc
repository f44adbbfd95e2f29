#include "results/record_json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/message_fixture.h"
#include "results/journal.h"

namespace duet {
namespace {

// Each has all fields that Duet knows of it, in the order in which Duet writes them.
const Json kResult = Json::parse(R"({
  "type": "result", "schema": 1, "benchmark": "copy", "device": "cuda", "engine": "duet",
  "case": {"bytes": 4096, "share": 0.5, "in_place": true, "dtype": "bf16", "sets": ["seed"]},
  "outcome": "measured",
  "seconds": {"median": 1.0, "mean": 1.0, "min": 1.0, "p5": 1.0, "p95": 1.0, "p99": 1.0,
              "ci_low": 1.0, "ci_high": 1.0, "widening": 1.5, "n": 3, "stopped_by": "time",
              "bounded": false},
  "mode": "adaptive", "warm_ups": 4, "flushed": false, "verified": true,
  "telemetry": {"readings": 2, "watts": {"mean": 1.0, "min": 1.0, "max": 1.0},
                "compute_mhz": {"mean": 1.0, "min": 1.0, "max": 1.0},
                "memory_mhz": {"mean": 1.0, "min": 1.0, "max": 1.0},
                "celsius": {"mean": 1.0, "min": 1.0, "max": 1.0}, "watts_limit": 700.0,
                "joules": 2.5, "throttle": ["power"]},
  "rates": {"gb_per_s": 1.0, "algbw_gb_per_s": 0.5}, "metrics": {"bound": 0.5},
  "cost": {"flop": 0.0, "memory_bytes": 0.0, "wire_bytes": 1.0, "algorithm_bytes": 1.0,
           "bus_bytes": 1.0, "busiest_wire_bytes": 1.0, "network_bytes": 1.0,
           "link_gbit_per_s": 1.0, "points": 1.0, "tokens": 1.0, "samples": 1.0},
  "timeline": [{"compute": [0.0, 1.0], "communication": [0.5, 2.0]}],
  "notes": {"count": "3", "algorithm": "7"}, "warnings": ["warm"], "curves": {"loss": [2.0, 1.5]},
  "samples": [1.0, 1.0, 1.0], "load": {"average": 0.5, "others": 0.1, "steal": 0.0}})");

const Json kEnvironment = Json::parse(R"({
  "type": "environment", "schema": 1, "machines": [{"name": "cuda", "virtual_time": false,
    "devices": [{"name": "cuda:0", "kind": "cuda", "model": "NVIDIA H200", "bus": "", "numa_node": -1,
                 "compute_units": 132, "memory_bytes": 1, "cache_bytes": 1, "copy_engines": 3,
                 "priorities": 6, "details": {"ECC": "on"}}],
    "links": [{"from": 0, "to": 0, "kind": "NVLink", "count": 18, "gb_per_s": 450.0,
               "peer_access": true}]}],
  "processes": 2,
  "run": {"duet": "0.1.0", "revision": "x", "command": "duet", "time_utc": "2026",
          "host": {"name": "vm", "system": "Debian", "kernel": "Linux 6.1.0", "cpu": "EPYC",
                   "sockets": 1, "cores": 2, "threads": 4, "memory_bytes": 1,
                   "numa": [{"node": 0, "cores": 2}]},
          "libraries": {"a": "1"}, "variables": {"B": "2"},
          "telemetry": {"cuda:0": {"readings": 1}}, "load": {"average": 0.5}}})");

// As `duet import` writes it: without what the output does not tell.
const Json kImported = Json::parse(R"({
  "type": "environment", "schema": 1, "machines": [{"name": "cuda",
    "devices": [{"name": "cuda:0", "kind": "cuda", "model": "NVIDIA H200"}]}],
  "imported": {"tool": "nccl-tests", "form": "text", "file": "a.txt"},
  "run": {"host": {"name": "vm"}, "libraries": {"NCCL": "2.28.9"}}})");

const Json kEnd = Json::parse(R"({
  "type": "end", "schema": 1, "time_utc": "2026",
  "load": {"average": 0.5, "others": 0.1, "steal": 0.0}})");

// The error of reading a journal whose record has the value at `pointer` replaced.
std::string complaint(Json record, const std::string& pointer, const std::string& value) {
  record[Json::json_pointer(pointer)] = Json::parse(value);
  return message_of<UsageError>([&] { parse_journal("j", record.dump() + "\n"); });
}

using Edit = std::pair<std::string, std::string>;

TEST(RecordJson, WholeRecordsPass) {
  EXPECT_NO_THROW(journal_line_from(kResult));
  EXPECT_NO_THROW(journal_line_from(kEnvironment));
  EXPECT_NO_THROW(journal_line_from(kEnd));
}

TEST(RecordJson, WhatWasReadIsWrittenTheSame) {
  for (const Json& json : {kResult, kEnvironment, kImported, kEnd}) {
    const JournalLine read = journal_line_from(json);
    EXPECT_EQ(std::visit([](const auto& line) { return to_json(line).dump(); }, read), json.dump());
  }
}

TEST(RecordJson, RecordsWithoutFiguresAreWrittenTheSame) {
  const std::string head = R"({"type":"result","schema":1,"benchmark":"copy","device":"cuda",)"
                           R"("engine":"duet","case":{"bytes":4096},"outcome":)";
  for (const char* rest : {R"("derived","rates":{"a":1.5},"notes":{},"warnings":[]})",
                           R"("skipped","skipped":{"reason":"x"},"notes":{},"warnings":["w"]})",
                           R"("wrong","failed":{"reason":"byte 7"}})",
                           R"("failed","failed":{"reason":""},"notes":{"first_median":"1 s"}})"}) {
    const JournalLine read = journal_line_from(Json::parse(head + rest));
    EXPECT_EQ(to_json(std::get<Record>(read)).dump(), head + rest);
  }
}

TEST(RecordJson, AmountsMayBeLargeWholeNumbers) {
  Json json = kResult;
  json["cost"]["flop"] = std::numeric_limits<std::uint64_t>::max();
  EXPECT_DOUBLE_EQ(std::get<Record>(journal_line_from(json)).cost.flop, 0x1p64);
  json["cost"]["flop"] = 5;
  EXPECT_EQ(std::get<Record>(journal_line_from(json)).cost.flop, 5);
}

TEST(RecordJson, AnEndIsKeptApart) {
  const JournalContents journal = parse_journal("j", kResult.dump() + "\n" + kEnd.dump() + "\n");
  ASSERT_EQ(journal.runs.size(), 1u);
  EXPECT_EQ(journal.runs[0].results.size(), 1u);
  ASSERT_EQ(journal.ends.size(), 1u);
  EXPECT_EQ(to_json(journal.ends[0]), kEnd);
  EXPECT_NE(complaint(kEnd, "/load", "1"), "");
  EXPECT_NE(complaint(kEnd, "/load/others", "null"), "");
  EXPECT_NE(complaint(kEnd, "/time_utc", "1"), "");
}

TEST(RecordJson, EveryFieldOfAResultIsHeldToItsType) {
  const std::vector<Edit> changes = {{"/benchmark", "1"},
                                     {"/device", "null"},
                                     {"/engine", "[]"},
                                     {"/metrics", "[]"},
                                     {"/metrics", R"({"bound": "0.5"})"},
                                     {"/case", "[]"},
                                     {"/case/bytes", "{}"},
                                     {"/case/bytes", "null"},
                                     {"/case/sets", "[1]"},
                                     {"/outcome", "1"},
                                     {"/outcome", "\"odd\""},
                                     {"/seconds", "7"},
                                     {"/seconds/n", "0"},
                                     {"/seconds/n", "1.5"},
                                     {"/seconds/n", "3000000000"},
                                     {"/seconds/n", "18446744073709551615"},
                                     {"/seconds/median", "-1"},
                                     {"/seconds/p99", "null"},
                                     {"/seconds/ci_low", "2"},
                                     {"/seconds/stopped_by", "1"},
                                     {"/seconds/widening", "\"2\""},
                                     {"/load", "0.5"},
                                     {"/load/others", "-1"},
                                     {"/load/steal", "\"\""},
                                     {"/mode", "1"},
                                     {"/warm_ups", "[]"},
                                     {"/flushed", "\"no\""},
                                     {"/verified", "0"},
                                     {"/telemetry", "1"},
                                     {"/telemetry/watts", "1"},
                                     {"/telemetry/watts/max", "\"\""},
                                     {"/telemetry/throttle", "[1]"},
                                     {"/rates", "[]"},
                                     {"/rates/gb_per_s", "\"1\""},
                                     {"/cost", "null"},
                                     {"/cost/flop", "-1"},
                                     {"/timeline", "\"0.0-1.0\""},
                                     {"/timeline/0", "[]"},
                                     {"/timeline/0/compute", "[1]"},
                                     {"/timeline/0/communication", "[1, 0]"},
                                     {"/notes", "[]"},
                                     {"/notes/algorithm", "7"},
                                     {"/warnings", "\"\""},
                                     {"/warnings/0", "1"},
                                     {"/samples", "1"},
                                     {"/samples/1", "-1"},
                                     {"/samples/1", "null"},
                                     {"/skipped", "{}"},
                                     {"/failed", "\"why\""}};
  for (const auto& [pointer, value] : changes) {
    EXPECT_NE(complaint(kResult, pointer, value), "") << pointer << " = " << value;
  }
}

TEST(RecordJson, EveryFieldOfAnEnvironmentIsHeldToItsType) {
  const std::string device = "/machines/0/devices/0", link = "/machines/0/links/0";
  const std::vector<Edit> changes = {{"/machines", "{}"},
                                     {"/machines/0", "5"},
                                     {"/machines/0/name", "5"},
                                     {"/machines/0/virtual_time", "1"},
                                     {"/machines/0/devices", "{}"},
                                     {device, "1"},
                                     {device + "/name", "null"},
                                     {device + "/model", "7"},
                                     {device + "/numa_node", "\"\""},
                                     {device + "/memory_bytes", "1e300"},
                                     {device + "/memory_bytes", "18446744073709551615"},
                                     {device + "/compute_units", "1e10"},
                                     {device + "/details/ECC", "true"},
                                     {"/machines/0/links", "1"},
                                     {link + "/from", "1"},
                                     {link + "/to", "-1"},
                                     {link + "/gb_per_s", "-1"},
                                     {link + "/peer_access", "1"},
                                     {"/run", "[]"},
                                     {"/run/command", "[]"},
                                     {"/run/host", "[]"},
                                     {"/run/host/cores", "\"2\""},
                                     {"/run/host/numa/0", "2"},
                                     {"/run/host/numa/0/cores", "[]"},
                                     {"/run/libraries/a", "1"},
                                     {"/run/variables", "[]"},
                                     {"/run/telemetry", "[]"},
                                     {"/run/telemetry/cuda:0", "1"}};
  for (const auto& [pointer, value] : changes) {
    EXPECT_NE(complaint(kEnvironment, pointer, value), "") << pointer << " = " << value;
  }
}

TEST(RecordJson, MessagesNameTheFieldAndWhatWasExpected) {
  EXPECT_EQ(complaint(kResult, "/seconds/median", "-1"),
            "j:1: \"seconds.median\": expected a number, 0 or more");
  EXPECT_EQ(complaint(kResult, "/seconds", "{}"),
            "j:1: \"seconds.median\" is missing: expected a number, 0 or more");
  EXPECT_EQ(complaint(kEnvironment, "/machines/0/devices/0/model", "7"),
            "j:1: \"machines[0].devices[0].model\": expected a text");
  EXPECT_EQ(complaint(kEnvironment, "/machines/0/links/0/to", "4"),
            "j:1: \"machines[0].links[0].to\": expected the place of one of 1 devices");
  EXPECT_EQ(complaint(kResult, "/case/bytes", "18446744073709551615"),
            "j:1: axis \"bytes\" is above 2^63 - 1");
  EXPECT_EQ(complaint(kResult, "/type", "\"odd\""),
            "j:1: unknown type \"odd\": expected \"environment\", \"result\" or \"end\"");
}

TEST(RecordJson, UnknownFieldsMayBeAnything) {
  EXPECT_EQ(complaint(kResult, "/later", "[1, {}]"), "");
  EXPECT_EQ(complaint(kEnvironment, "/run/later", "null"), "");
}

}  // namespace
}  // namespace duet
