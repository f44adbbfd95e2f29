// A workload is all that Duet says about one kind of work: its records, with their rates, tables
// and expectations, and its part of suites. Its folder defines it, and list.h names it; suites,
// writers and verdicts go through workloads() and name none.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/machine.h"
#include "results/record_json.h"
#include "results/record_kind.h"
#include "timing/measurement.h"

namespace duet {

// A benchmark of a suite, on one machine.
struct SuiteEntry {
  std::string suite;      // "quick"
  std::string device;     // as in --device; of the suite "health" "host", or "" for all others
  bool if_there = false;  // left out if the device cannot be opened
  // The benchmark on the opened machine; `device` is how it was opened, and `stop` lets a case end
  // early. Nothing if the machine has too few devices for it, or no engine.
  using Make = std::function<std::optional<Benchmark>(Machine& machine, const std::string& device,
                                                      const std::function<bool()>& stop)>;
  Make make;
};

// An entry of what `benchmark(machine, options, stop)` makes. Options have a field `device_name`,
// which is set to the machine's.
template <typename Make, typename Options>
SuiteEntry suite_entry(const char* suite, const char* device, bool if_there, Make benchmark,
                       const Options& options) {
  return {suite, device, if_there,
          [benchmark, options](Machine& machine, const std::string&,
                               const std::function<bool()>& stop) -> std::optional<Benchmark> {
            Options own = options;
            own.device_name = machine.name();
            return benchmark(machine, own, stop);
          }};
}

struct Workload {
  std::vector<RecordKind> records;      // of those names of which it has something to say
  std::vector<SuiteEntry> suites = {};  // in the order in which a suite runs them
  // What `duet info` says of it on a machine, in lines; nullptr: nothing.
  std::string (*info)(Machine& machine) = nullptr;
  // What studies report of a model, beside the records of a device of it, for the report page;
  // nullptr: nothing.
  std::vector<Json> (*studies)(const std::vector<const Record*>& records, const std::string& device,
                               const std::string& model) = nullptr;
};

#define DUET_WORKLOAD(name) const Workload& name##_workload();
#include "workload/list.h"
#undef DUET_WORKLOAD

const std::vector<const Workload*>& workloads();

}  // namespace duet
