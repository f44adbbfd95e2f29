// What later code takes for granted of a record, checked once where a journal is read: whoever
// holds a record that has passed need not ask again.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "results/record.h"

namespace duet {

// Holds a parsed record against docs/results.md: its type and schema, and of every field that Duet
// knows that it is of the right type, and times, costs and counts are 0 or more. Fields that it
// does not know may be anything. Throws Error, with the field and what was expected; it knows no
// file.
void check_record(const Record& record);

}  // namespace duet
