// What a journal's lines say: a result of each case, and of what follows from cases (Record); the
// machines and the run that it belongs to (Environment); the end of a run (RunEnd). Writers,
// verdicts, --resume and `duet compare` read these. record_json.h reads and writes them as JSON;
// docs/results.md describes the fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/by_name.h"
#include "device/device.h"
#include "results/host_facts.h"
#include "timing/measurement.h"
#include "timing/statistics.h"

namespace duet {

// Increases when a field changes its meaning or is removed, not when a field is added.
inline constexpr int kJournalSchema = 1;

// The key of the note of a case that was measured twice because its first figure was doubtful. The
// note is the first median as text.
inline constexpr const char* kFirstMedian = "first_median";

// Why a case that could be measured has no measurement.
struct Failure {
  bool wrong = false;  // the work ran and left wrong data
  std::string message;
};

enum class Outcome { measured, derived, skipped, wrong, failed };
const char* name(Outcome outcome);

// The time of one call. `max`, `ci_width` and `drifting` of a journal are not known.
struct Seconds : Summary {
  std::string stopped_by;  // "": imported, so that `widening` is not known
};

struct ValueRange {
  double mean = 0, min = 0, max = 0;
};

// What a device's sensors told while a case ran; what it does not report is missing.
struct TelemetrySummary {
  std::optional<std::uint64_t> readings;
  std::optional<ValueRange> watts, compute_mhz, memory_mhz, celsius;
  std::optional<double> watts_limit, joules;
  std::vector<std::string> throttle;  // the reasons seen
};
TelemetrySummary summary_of(const std::vector<Telemetry>& readings);

// How busy the host was. `average`: processes that ran or waited, over the last minute. The others
// are shares of the CPU time of all hardware threads, as LoadShare's.
struct HostLoad {
  std::optional<double> average, others, steal;
};

// The result of a case, or what follows from results (`derived`). Figures have nine digits.
struct Record {
  CaseId id;
  Outcome outcome = Outcome::measured;
  std::string reason;  // of cases that were skipped, failed or left wrong data; else ""

  // Measured ones alone.
  Seconds seconds;
  std::string mode;  // of sampling: "adaptive"
  std::optional<int> warm_ups;
  bool flushed = false, verified = false;
  std::optional<TelemetrySummary> telemetry;
  std::optional<HostLoad> load;  // while the case ran
  Cost cost;                     // of one call

  // Measured and derived ones.
  ByName<double> rates;    // the first one is the main one
  ByName<double> metrics;  // figures that are no rates
  std::vector<RankTimeline> timeline;
  ByName<std::vector<double>> curves;
  std::vector<double> samples;  // seconds; empty: not kept

  ByName<std::string> notes;
  std::vector<std::string> warnings;
};

// A link of a machine, between two of its devices.
struct MachineLink {
  int from = 0, to = 0;  // places in the list of devices
  Link link;
};

struct MachineFacts {
  std::string name;  // "cuda"
  bool virtual_time = false;
  std::vector<DeviceInfo> devices;  // those of its fields that journals have
  std::vector<MachineLink> links;
};

// What differs from run to run.
struct RunFacts {
  std::string duet, revision;  // the program's
  std::string command, time_utc;
  HostFacts host;
  ByName<std::string> libraries, variables;  // versions; environment variables that change results
  ByName<TelemetrySummary> telemetry;        // when the run began, by device
  HostLoad load;
  std::vector<std::string> hosts = {};  // names by process; of one process: empty
};

struct Environment {
  std::vector<MachineFacts> machines;
  int processes = 1;
  // Of output of another tool: tool, form, file. Fields that the output does not tell are left out.
  ByName<std::string> imported;
  std::optional<RunFacts> run;  // none: left out (--reproducible)
};

// The last line of a run.
struct RunEnd {
  std::string time_utc;
  HostLoad load;
};

Record make_record(const Measurement& measurement);
Record make_record(const CaseId& id, const Failure& failure);

// The case in today's form; an older journal may have another.
Finished finished_of(const Record& record);

// A key for a case: benchmark, device, engine and axes. It does not depend on the order of the
// axes, and is the same for a case of an older journal and of today's.
std::string case_key(const CaseId& id);
// The case that has a key, without labels and with its axes by name. Throws BadArgument for a text
// that is no key.
CaseId case_of_key(const std::string& key);

// The value of one axis; "", 0 or false if the case has no such axis of that type.
std::string axis_word(const CaseId& id, std::string_view name);
double axis_number(const CaseId& id, std::string_view name);
bool axis_true(const CaseId& id, std::string_view name);

// The text of an axis's value in tables and CSV: "8192", "true", "seed,llama".
std::string axis_text(const AxisValue& value);

// A number as journals write it: "0.5", "2.0".
std::string number_text(double value);

}  // namespace duet
