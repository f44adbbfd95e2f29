#pragma once

#include <nlohmann/json_fwd.hpp>

#include "results/record.h"

namespace duet {

// Checks a parsed record against docs/results.md: its type, its schema and the types of all fields
// that Duet knows; times, costs and counts are 0 or more. Other fields may be anything. Code that
// receives a record which has passed need not check it again. Throws Error that names the field and
// what was expected, but no file.
void check_record(const Record& record);

}  // namespace duet
