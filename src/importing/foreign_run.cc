#include "importing/foreign_run.h"

#include <fmt/format.h>

#include <cmath>

#include "core/error.h"
#include "importing/words.h"
#include "results/version.h"

namespace duet {
namespace {

MachineFacts machine_of(const ForeignRun& run) {
  MachineFacts machine;
  machine.name = run.machine;
  for (const ForeignDevice& device : run.devices) {
    DeviceInfo& info = machine.devices.emplace_back();
    info.name = device.name;
    info.kind = run.kind;
    info.model = device.model;
    info.bus = device.bus;
  }
  return machine;
}

Environment environment_of(const ForeignRun& run, const std::string& file) {
  Environment environment;
  environment.machines = {machine_of(run)};
  environment.processes = run.processes;
  environment.imported = {{"tool", run.tool}, {"form", run.form}, {"file", file}};
  if (!run.version.empty()) environment.imported.set("version", run.version);
  environment.imported.set("by", fmt::format("duet {} ({})", version(), revision()));
  if (run.command.empty() && run.host.empty() && run.libraries.empty()) return environment;
  RunFacts& facts = environment.run.emplace();
  facts.command = run.command;
  facts.host.host_name = run.host;
  for (const auto& [library, number] : run.libraries) facts.libraries.set(library, number);
  return environment;
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
  Record record = make_record(measurement);
  // A tool's figure stands for a single sample; the samples behind it are not known.
  record.samples.clear();
  record.seconds.stopped_by.clear();
  record.warm_ups = one.warm_ups;
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
  if (!std::isfinite(one.seconds)) {
    throw UsageError(
        fmt::format("the rate of the case in {} gives no time that can be written: "
                    "expected a larger one",
                    in_words(one.place)));
  }
  const auto [known, fresh] = run.places.emplace(one.benchmark + one.axes.key(), one.place);
  if (!fresh) {
    throw UsageError(
        fmt::format("the case of {} stands again in {}: expected each case once, from one run; "
                    "import repeated runs one by one",
                    in_words(known->second), in_words(one.place)));
  }
  run.cases.push_back(std::move(one));
}

JournalRun records_of(const ForeignRun& run, const std::string& file) {
  JournalRun records{environment_of(run, file), {}};
  for (const ForeignCase& one : run.cases) records.results.push_back(result_of(run, one));
  return records;
}

}  // namespace duet
