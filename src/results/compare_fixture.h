// Small journals for the tests of compare().
#pragma once

#include <string>
#include <vector>

#include "core/message_fixture.h"
#include "results/compare.h"

namespace duet {

inline Environment environment(const std::string& machine, const std::string& model,
                               int devices = 2) {
  MachineFacts facts;
  facts.name = machine;
  for (int i = 0; i < devices; ++i) {
    DeviceInfo& device = facts.devices.emplace_back();
    device.name = machine + ":" + std::to_string(i);
    device.kind = machine;
    device.model = model;
  }
  Environment where;
  where.machines = {facts};
  return where;
}

inline CaseId copy_case(std::int64_t bytes, const std::string& machine = "cuda") {
  return {"copy",
          machine,
          "duet",
          {{"kind", std::string("peer")},
           {"bytes", bytes},
           {"source", machine + ":0"},
           {"destination", machine + ":1"},
           {"bidirectional", false},
           {"sets", std::vector<std::string>{"label"}}}};
}

// A copy of 10^9 bytes in `median` seconds, with the confidence interval `low` to `high`.
inline Record measured(const CaseId& id, double median, double low, double high) {
  Measurement measurement;
  measurement.id = id;
  measurement.sampling.emplace();
  measurement.sampling->samples = {median, median};
  measurement.sampling->mode = "adaptive";
  measurement.cost.wire_bytes = 1e9;
  Record record = make_record(measurement);
  record.seconds.ci_low = low;
  record.seconds.ci_high = high;
  return record;
}

// An overlap of a GEMM and a collective, of 1 s each alone, that takes `together` seconds.
inline Record fraction(double together, double of_ideal) {
  Measurement measurement;
  measurement.id = {"overlap", "cuda", "dma", {{"scenario", std::string("s")}}};
  measurement.sampling.emplace();
  measurement.sampling->samples = {together, together};
  measurement.sampling->mode = "adaptive";
  measurement.metrics = {
      {"fraction_of_ideal", of_ideal}, {"compute_seconds", 1}, {"communication_seconds", 1}};
  return make_record(measurement);
}

inline Record one_sample(const CaseId& id, double median) {
  Record record = measured(id, median, median / 2, median * 2);
  record.seconds.n = 1;
  return record;
}

inline Record skipped(const CaseId& id) {
  Measurement measurement;
  measurement.id = id;
  measurement.skipped = Skipped{"no peer access"};
  return make_record(measurement);
}

inline JournalContents journal(const std::string& name, const std::vector<Record>& results,
                               const Environment& where = environment("cuda", "NVIDIA H200")) {
  JournalContents contents;
  contents.name = name;
  contents.runs = {{where, results}};
  return contents;
}

// The message of the UsageError that compare() throws, "" if it throws none.
inline std::string complaint(const JournalContents& base, const JournalContents& now, bool across) {
  return message_of<UsageError>([&] { compare(base, now, across); });
}

inline const CaseId kCase = copy_case(4096);

}  // namespace duet
