#pragma once

#include "results/record.h"

namespace duet {

// The JSON Schema (draft 2020-12) of a record, which is a line of a journal;
// docs/journal.schema.json is its text. It accepts every record that check_record accepts. The
// order of two values ("ci_low" and "ci_high"), and that links join devices that exist, only
// check_record sees.
Record journal_schema();

}  // namespace duet
