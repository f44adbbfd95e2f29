// Records are JSON objects: one for each case, and one for each result that follows from cases.
// Writers, --resume and `duet compare` read records. Their schema is docs/results.md.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "timing/measurement.h"

namespace duet {

using Record = nlohmann::ordered_json;

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

Record make_record(const Measurement& measurement);
Record make_record(const CaseId& id, const Failure& failure);

// Read a record. Throw Error naming the field that is missing or of another type.
Outcome outcome_of(const Record& record);
CaseId case_of(const Record& record);        // unchanged, also from older journals
Finished finished_of(const Record& record);  // the case in today's form
std::map<std::string, double> metrics_of(const Record& record);  // the metrics that are numbers
std::string reason_of(const Record& record);  // of a skipped or failed case, else ""

// A key for a case: benchmark, device, engine and axes. It does not depend on the order of the
// axes, and is the same for a case of an older journal and of today's.
std::string case_key(const CaseId& id);

// The value of one axis; "", 0 or false if the record has no such axis of that type. For any record
// of a journal.
std::string axis_word(const Record& record, const char* name);
double axis_number(const Record& record, const char* name);
bool axis_true(const Record& record, const char* name);

// The text of an axis's value in tables and CSV: "8192", "true", "seed,llama".
std::string axis_text(const AxisValue& value);

}  // namespace duet
