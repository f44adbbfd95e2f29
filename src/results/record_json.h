// The lines of a journal as JSON. One description of each type's fields reads them, checks them,
// writes them and makes the published schema (docs/journal.schema.json).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <variant>

#include "results/record.h"

namespace duet {

using Json = nlohmann::ordered_json;

Json to_json(const Record& record);
Json to_json(const Environment& environment);
Json to_json(const RunEnd& end);
// A part of an environment.
Json to_json(const MachineFacts& machine);
Json to_json(const HostFacts& host);

// Reads a line that was parsed: its type, its schema and all fields that Duet knows must have the
// types of docs/results.md; times, costs and counts are 0 or more. Fields that it does not know may
// be anything and are not kept. Throws Error that names the field and what was expected, but no
// file.
using JournalLine = std::variant<Environment, Record, RunEnd>;
JournalLine journal_line_from(const Json& json);

// The JSON Schema (draft 2020-12) of a line; docs/journal.schema.json is its text. It accepts every
// line that journal_line_from() accepts. The order of two values ("ci_low" and "ci_high"), and that
// links join devices that exist, only journal_line_from() sees.
Json journal_schema();

// Records that Duet writes nest five levels. Deeper nesting than this could exhaust the stack of
// the recursive functions that copy or print JSON, the parser's among them.
inline constexpr int kDeepestNesting = 32;

// True if JSON text nests objects and lists deeper than that. For any bytes.
bool nests_too_deep(std::string_view text);

}  // namespace duet
