#include "importing/foreign_run.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "importing/words.h"
#include "results/version.h"

namespace duet {
namespace {

Record machine_of(const ForeignRun& run) {
  Record machine = {{"name", run.machine}, {"devices", Record::array()}};
  for (const ForeignDevice& device : run.devices) {
    machine["devices"].push_back(
        {{"name", device.name}, {"kind", run.kind}, {"model", device.model}});
    if (!device.bus.empty()) machine["devices"].back()["bus"] = device.bus;
  }
  return machine;
}

Record environment_of(const ForeignRun& run, const std::string& file) {
  Record record = {{"type", "environment"}, {"schema", kJournalSchema}};
  record["machines"] = Record::array({machine_of(run)});
  if (run.processes > 1) record["processes"] = run.processes;
  record["imported"] = {{"tool", run.tool}, {"form", run.form}, {"file", file}};
  if (!run.version.empty()) record["imported"]["version"] = run.version;
  record["imported"]["by"] = fmt::format("duet {} ({})", version(), revision());
  if (!run.command.empty()) record["run"]["command"] = run.command;
  if (!run.host.empty()) record["run"]["host"] = {{"name", run.host}};
  for (const auto& [library, number] : run.libraries) record["run"]["libraries"][library] = number;
  return record;
}

Record measured(const CaseId& id, const ForeignRun& run, const ForeignCase& one) {
  Measurement measurement;
  measurement.id = id;
  measurement.cost = one.cost;
  measurement.notes = one.notes;
  if (!one.verified) {
    measurement.warnings.push_back(
        fmt::format("not known to be verified: the output of {} does not tell", run.tool));
  }
  measurement.sampling.emplace();
  measurement.sampling->samples = {one.seconds};
  measurement.sampling->mode = "imported";
  measurement.sampling->verified = one.verified.value_or(false);
  measurement.sampling->warm_ups = one.warm_ups.value_or(0);
  Record record = make_record(measurement);
  // A tool's figure stands for a single sample; the samples behind it are not known.
  record.erase("samples");
  record["seconds"].erase("widening");
  record["seconds"].erase("stopped_by");
  if (!one.warm_ups) record.erase("warm_ups");
  return record;
}

Record result_of(const ForeignRun& run, const ForeignCase& one) {
  const CaseId id{one.benchmark, run.machine, run.tool, one.axes};
  if (one.failed) return make_record(id, Failure{false, *one.failed});
  if (one.verified == false) return make_record(id, Failure{true, one.wrong});
  if (!one.skipped) return measured(id, run, one);
  Measurement measurement;
  measurement.id = id;
  measurement.skipped = Skipped{*one.skipped};
  return make_record(measurement);
}

std::string in_words(const std::string& place) { return count_of(place) ? "line " + place : place; }

}  // namespace

void add_case(ForeignRun& run, ForeignCase one) {
  const auto [known, fresh] = run.places.emplace(one.benchmark + one.axes.key(), one.place);
  if (!fresh) {
    throw UsageError(
        fmt::format("the case of {} stands again in {}: expected each case once, from one run; "
                    "import repeated runs one by one",
                    in_words(known->second), in_words(one.place)));
  }
  run.cases.push_back(std::move(one));
}

std::vector<Record> records_of(const ForeignRun& run, const std::string& file) {
  std::vector<Record> records = {environment_of(run, file)};
  for (const ForeignCase& one : run.cases) records.push_back(result_of(run, one));
  return records;
}

}  // namespace duet
