// The file that nccl-tests writes with -J, of versions 1 to 3 of that form, and that of rccl-tests,
// which differs in "rccl_version".
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

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

// The list of devices has one entry a process, also where a process has several devices: of its
// first rank. Throws UsageError if the entries are not those of one run.
void take_ranks(NcclTestsRun& run, const Json& config) {
  const Json& devices = value_at(config, "devices");
  if (!devices.is_array() || devices.empty()) return;
  const std::int64_t each = devices.size() > 1
                                ? small(count_at(devices[1], "rank").value_or(0))
                                : small(count_at(config, "nthreads").value_or(0)) *
                                      std::int64_t{small(count_at(config, "ngpus").value_or(0))};
  std::set<std::string> groups;
  std::int64_t in_first = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::int64_t expected = static_cast<std::int64_t>(i) * each;
    const auto rank = count_at(devices[i], "rank");
    if (rank != expected || (i > 0 && each == 0)) {
      throw UsageError(
          fmt::format("devices[{}]: expected rank {}, since a run lists each of its processes once",
                      i, i == 1 ? "1 or more" : std::to_string(expected)));
    }
    groups.insert(value_at(devices[i], "group").dump());
    if (value_at(devices[i], "group") == value_at(devices[0], "group")) in_first += each;
  }
  run.ranks = small(in_first);
  run.groups = small(static_cast<std::int64_t>(groups.size()));
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
  run.processes = std::max(1, small(static_cast<std::int64_t>(devices.size())));
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

// A number of nccl-tests' JSON, which has six digits behind the point.
std::optional<Printed> printed_at(const Json& group, const char* key) {
  const auto value = amount_at(group, key);
  if (!value) return std::nullopt;
  return Printed{*value, 0.5e-6, std::numeric_limits<double>::digits10};
}

void take_figure(ForeignRun& run, const NcclTestsRun& conditions, NcclTestsFigure figure,
                 const Json& group, const std::string& place) {
  if (group.is_null()) return;  // nccl-tests leaves a group out as null
  const bool cpu_time = value_at(group, "cpu_time").is_number();
  const auto time = printed_at(group, cpu_time ? "cpu_time" : "time");
  const Json& wrong = value_at(group, "nwrong");
  figure.wrong = amount_at(group, "nwrong");
  if (!time || (!figure.wrong && !wrong.is_null())) {
    throw UsageError("expected \"time\" and \"nwrong\" as numbers");
  }
  figure.microseconds = *time;
  figure.algbw = printed_at(group, "alg_bw");
  figure.busbw = printed_at(group, "bus_bw");
  if (figure.bytes == 0) return;  // too small for a part of each rank: nothing was sent
  NcclTestsRun with_clock = conditions;
  with_clock.cpu_time = cpu_time;
  ForeignCase one = nccl_tests_case(with_clock, figure);
  one.place = place;
  add_case(run, std::move(one));
}

void take_row(ForeignRun& run, NcclTestsSizes& sizes, NcclTestsRun conditions, const Json& row,
              const std::string& place) {
  const auto bytes = count_at(row, "size");
  if (!bytes) throw UsageError("expected \"size\" as a whole number");
  NcclTestsFigure figure;
  figure.bytes = *bytes;
  figure.count = value_at(row, "count").is_number() ? value_at(row, "count").dump() : "";
  figure.type = text_at(row, "type");
  figure.op = text_at(row, "redop");
  figure.root = count_of(trim(text_at(row, "root"))).value_or(-1);
  if (const auto calls = count_at(row, "actual_iterations")) {
    conditions.iterations = std::to_string(*calls);
  }
  sizes.add(figure);
  // rccl-tests writes one of the two alone if it is told to, and then "actual_iterations" all the
  // same, which a row that was not finished lacks.
  if (!row.contains("actual_iterations") ||
      (!row.contains("out_of_place") && !row.contains("in_place"))) {
    throw UsageError(
        "a row that is not finished: expected \"out_of_place\", \"in_place\" and "
        "\"actual_iterations\"");
  }
  take_figure(run, conditions, figure, value_at(row, "out_of_place"), place);
  figure.in_place = true;
  take_figure(run, conditions, figure, value_at(row, "in_place"), place);
}

void take_rows(ForeignRun& run, const NcclTestsRun& conditions, const Json& results) {
  NcclTestsSizes sizes;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string place = fmt::format("results[{}]", i);
    at_place(place, [&] { take_row(run, sizes, conditions, results[i], place); });
  }
  sizes.check(
      std::nullopt);  // the largest size may have been reduced, which the file does not tell
}

}  // namespace

ForeignRun read_nccl_tests_json(const Json& report, const ImportOptions& options) {
  const Json& config = value_at(report, "config");
  const Json& results = value_at(report, "results");
  if (!config.is_object() || !results.is_array()) {
    throw UsageError("nccl-tests' JSON without \"config\" or \"results\": expected both");
  }
  // A run that fails closes the file all the same.
  if (!report.contains("out_of_bounds")) {
    throw UsageError(
        "nccl-tests ended before its last row: expected \"out_of_bounds\" behind them");
  }
  ForeignRun run;
  const bool rccl = report.contains("rccl_version");
  run.tool = rccl ? "rccl-tests" : "nccl-tests";
  run.form = "JSON";
  run.machine = run.kind = rccl ? "hip" : "cuda";
  run.command = command_of(report);
  const std::string version =
      nccl_version_text(count_at(report, rccl ? "rccl_version" : "nccl_version").value_or(0));
  if (!version.empty()) run.libraries = {{rccl ? "RCCL" : "NCCL", version}};
  NcclTestsRun conditions;
  conditions.collective = collective_of_program(run.command);
  if (conditions.collective.empty()) conditions.collective = options.collective;
  take_ranks(conditions, config);
  if (const auto count = count_at(config, "warmup_iters")) conditions.warm_ups = small(*count);
  if (const auto count = count_at(config, "iterations")) {
    conditions.iterations = std::to_string(*count);
  }
  conditions.graph_launches = small(count_at(config, "graph").value_or(0));
  if (value_at(config, "devices").is_array()) take_devices(run, value_at(config, "devices"));
  take_rows(run, conditions, results);
  return run;
}

}  // namespace duet
