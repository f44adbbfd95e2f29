// The file that nccl-tests writes with -J, of version 2 or 3 of that form.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/units.h"
#include "importing/json_fields.h"
#include "importing/nccl_tests_row.h"
#include "importing/readers.h"
#include "results/environment.h"

namespace duet {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostRanks = 1 << 30;

int small(std::int64_t number) { return static_cast<int>(std::min(number, kMostRanks)); }

// The list of devices has one entry a process, also where a process has several devices: ranks
// follow from the steps between its entries.
int ranks_of(const Json& config) {
  const Json& devices = value_at(config, "devices");
  const std::int64_t each = small(count_at(config, "nthreads").value_or(0)) *
                            std::int64_t{small(count_at(config, "ngpus").value_or(0))};
  if (!devices.is_array() || devices.empty()) return 0;
  if (devices.size() == 1) return small(std::max<std::int64_t>(each, 0));
  const auto last = count_at(devices.back(), "rank");
  const auto second = count_at(devices[1], "rank");
  return last && second ? small(small(*last) + std::int64_t{small(*second)}) : 0;
}

std::string command_of(const Json& report) {
  std::vector<std::string> words;
  for (const Json& word : value_at(report, "args")) {
    if (word.is_string()) words.push_back(word.get<std::string>());
  }
  return quote_command(words);
}

void take_devices(ForeignRun& run, const Json& devices) {
  run.host = devices.empty() ? "" : text_at(devices[0], "hostname");
  for (const Json& one : devices) {
    const auto index = count_at(one, "device");
    if (!index || text_at(one, "hostname") != run.host) continue;
    const ForeignDevice device = {fmt::format("{}:{}", run.kind, *index),
                                  trim(text_at(one, "device_info")), text_at(one, "device_hex")};
    const bool known =
        std::find(run.devices.begin(), run.devices.end(), device) != run.devices.end();
    if (!known) run.devices.push_back(device);
  }
}

void take_figure(ForeignRun& run, const NcclTestsRun& conditions, NcclTestsFigure figure,
                 const Json& group) {
  if (group.is_null()) return;  // nccl-tests leaves a group out as null
  const bool cpu_time = value_at(group, "cpu_time").is_number();
  const auto time = amount_at(group, cpu_time ? "cpu_time" : "time");
  const Json& wrong = value_at(group, "nwrong");
  figure.wrong = amount_at(group, "nwrong");
  if (!time || (!figure.wrong && !wrong.is_null())) {
    throw UsageError("\"results\": expected each with \"time\" and \"nwrong\" as numbers");
  }
  figure.microseconds = *time;
  NcclTestsRun with_clock = conditions;
  with_clock.cpu_time = cpu_time;
  run.cases.push_back(nccl_tests_case(with_clock, figure));
}

void take_row(ForeignRun& run, NcclTestsRun conditions, const Json& row) {
  const auto bytes = count_at(row, "size");
  if (!bytes) throw UsageError("\"results\": expected each with \"size\" as a whole number");
  NcclTestsFigure figure;
  figure.bytes = *bytes;
  figure.count = value_at(row, "count").is_number() ? value_at(row, "count").dump() : "";
  figure.type = text_at(row, "type");
  figure.op = text_at(row, "redop");
  figure.root = count_of(trim(text_at(row, "root"))).value_or(-1);
  if (const auto calls = count_at(row, "actual_iterations")) {
    conditions.iterations = std::to_string(*calls);
  }
  take_figure(run, conditions, figure, value_at(row, "out_of_place"));
  figure.in_place = true;
  take_figure(run, conditions, figure, value_at(row, "in_place"));
}

}  // namespace

ForeignRun read_nccl_tests_json(const Json& report, const ImportOptions& options) {
  const Json& config = value_at(report, "config");
  const Json& results = value_at(report, "results");
  if (!config.is_object() || !results.is_array()) {
    throw UsageError("nccl-tests' JSON without \"config\" or \"results\": expected both");
  }
  ForeignRun run;
  run.tool = "nccl-tests";
  run.form = "JSON";
  run.machine = run.kind = "cuda";
  run.command = command_of(report);
  const std::string version = nccl_version_text(count_at(report, "nccl_version").value_or(0));
  if (!version.empty()) run.libraries = {{"NCCL", version}};
  NcclTestsRun conditions;
  conditions.collective = collective_of_program(run.command);
  if (conditions.collective.empty()) conditions.collective = options.collective;
  conditions.ranks = ranks_of(config);
  if (const auto count = count_at(config, "warmup_iters")) conditions.warm_ups = small(*count);
  if (const auto count = count_at(config, "iterations")) {
    conditions.iterations = std::to_string(*count);
  }
  conditions.graph_launches = small(count_at(config, "graph").value_or(0));
  if (value_at(config, "devices").is_array()) take_devices(run, value_at(config, "devices"));
  for (const Json& row : results) take_row(run, conditions, row);
  return run;
}

}  // namespace duet
