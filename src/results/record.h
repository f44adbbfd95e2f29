// A journal's records as JSON: one for each case (and each summary that follows from cases). The
// writers, resuming and comparing all read records; docs/results.md is their schema.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "timing/measurement.h"

namespace duet {

using Record = nlohmann::ordered_json;

// Counts up when a field changes its meaning or goes; new fields do not count.
inline constexpr int kJournalSchema = 1;

// The note of a case that was measured twice because its first figure was in doubt: that one's
// median, in words.
inline constexpr const char* kFirstMedian = "first_median";

// Why a case has no measurement although it could have had one.
struct Failure {
  bool wrong = false;  // it ran, and left wrong data
  std::string message;
};

enum class Outcome { measured, derived, skipped, wrong, failed };
const char* name(Outcome outcome);

Record make_record(const Measurement& measurement);
Record make_record(const CaseId& id, const Failure& failure);

// Reading back. Throw Error naming the field that is missing or of another type.
Outcome outcome_of(const Record& record);
CaseId case_of(const Record& record);        // as the record has it
Finished finished_of(const Record& record);  // its case as today's journals have it
std::map<std::string, double> metrics_of(const Record& record);  // those that are numbers
std::string reason_of(const Record& record);  // of a skipped or failed case, else ""

// What tells cases apart: benchmark, device, engine and axes, the axes in any order. The same for a
// case of an older journal and today's.
std::string case_key(const CaseId& id);

// One axis of a record's case, of any record of a journal: "", 0 or false where it has none of that
// type.
std::string axis_word(const Record& record, const char* name);
double axis_number(const Record& record, const char* name);
bool axis_true(const Record& record, const char* name);

// An axis's value as tables and CSV show it: "8192", "true", "seed,llama".
std::string axis_text(const AxisValue& value);

}  // namespace duet
