#include "results/record_check.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "results/fields.h"
#include "results/record_shape.h"

namespace duet {
namespace {

void check_shape(const Record& object, const std::string& at, const Shape& shape);

void check_object(const Record& value, const std::string& at, const Shape& shape) {
  if (!value.is_object()) throw Error(fmt::format("\"{}\": expected an object", at));
  check_shape(value, at + ".", shape);
}

void check_part(const Record& object, const std::string& at, const Part& part) {
  if (!object.contains(part.key)) return;
  const Record& value = object[part.key];
  if (part.kind == PartKind::object) return check_object(value, at + part.key, *part.shape);
  if (part.kind == PartKind::list) {
    require(object, at, Field{part.key, FieldKind::list});
    std::size_t place = 0;
    for (const Record& one : value) {
      check_object(one, fmt::format("{}{}[{}]", at, part.key, place++), *part.shape);
    }
    return;
  }
  require(object, at, Field{part.key, FieldKind::object});
  for (const auto& [name, one] : value.items()) {
    check_object(one, fmt::format("{}{}.{}", at, part.key, name), *part.shape);
  }
}

void check_shape(const Record& object, const std::string& at, const Shape& shape) {
  require_all(object, at, shape.required);
  allow(object, at, shape.allowed);
  for (const Field& field : shape.each_by_name) {
    if (!object.contains(field.key)) continue;
    require(object, at, Field{field.key, FieldKind::object});
    for (const auto& [name, value] : object[field.key].items()) {
      require(object[field.key], at + field.key + ".", Field{name.c_str(), field.kind});
    }
  }
  for (const Part& part : shape.parts) check_part(object, at, part);
}

// What a shape cannot say.
void check_seconds(const Record& seconds) {
  if (seconds["n"] < 1) throw Error("\"seconds.n\": expected 1 or more");
  if (seconds["ci_low"] > seconds["ci_high"]) {
    throw Error("\"seconds.ci_low\" is above \"seconds.ci_high\"");
  }
}

void check_result(const Record& record) {
  case_of(record);
  const Outcome outcome = outcome_of(record);
  reason_of(record);
  require_all(record, "", fields_of(outcome));
  check_shape(record, "", result_shape());
  if (record.contains("seconds")) check_seconds(record["seconds"]);
}

// The machine has passed its shape.
void check_links(const Record& machine, const std::string& at) {
  if (!machine.contains("links")) return;
  const std::size_t devices = machine.contains("devices") ? machine["devices"].size() : 0;
  std::size_t place = 0;
  for (const Record& link : machine["links"]) {
    for (const char* end : {"from", "to"}) {
      if (link[end] >= 0 && link[end] < devices) continue;
      throw Error(fmt::format("\"{}links[{}].{}\": expected the place of one of {} devices", at,
                              place, end, devices));
    }
    ++place;
  }
}

void check_environment(const Record& record) {
  check_shape(record, "", environment_shape());
  std::size_t place = 0;
  for (const Record& machine : record["machines"]) {
    check_links(machine, fmt::format("machines[{}].", place++));
  }
}

}  // namespace

void check_record(const Record& record) {
  if (!record.is_object() || !record.contains("type") || !record.contains("schema")) {
    throw Error("not a record: expected an object with \"type\" and \"schema\"");
  }
  if (record["schema"] != kJournalSchema) {
    throw Error(fmt::format("the record has schema {}, this version of duet reads schema {}",
                            record["schema"].dump(), kJournalSchema));
  }
  if (record["type"] == "result") {
    check_result(record);
  } else if (record["type"] == "environment") {
    check_environment(record);
  } else if (record["type"] == "end") {
    check_shape(record, "", end_shape());
  } else {
    throw Error(fmt::format("unknown type {}: expected \"environment\", \"result\" or \"end\"",
                            record["type"].dump()));
  }
}

}  // namespace duet
