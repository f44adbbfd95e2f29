#include "results/journal_schema.h"

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "results/record_shape.h"

namespace duet {
namespace {

Record type_of(const char* type) { return {{"type", type}}; }

Record list_of(Record item) { return {{"type", "array"}, {"items", std::move(item)}}; }

Record by_name(Record value) {
  return {{"type", "object"}, {"additionalProperties", std::move(value)}};
}

template <typename T>
Record whole_number(T least) {
  return {{"type", "integer"}, {"minimum", least}, {"maximum", std::numeric_limits<T>::max()}};
}

Record schema_of(FieldKind kind) {
  switch (kind) {
    case FieldKind::text:
      return type_of("string");
    case FieldKind::truth:
      return type_of("boolean");
    case FieldKind::number:
      return type_of("number");
    case FieldKind::amount:
      return {{"type", "number"}, {"minimum", 0}};
    case FieldKind::bytes:
      return whole_number<std::int64_t>(0);
    case FieldKind::whole:
      return whole_number<int>(std::numeric_limits<int>::min());
    case FieldKind::object:
      return type_of("object");
    case FieldKind::list:
      return type_of("array");
    case FieldKind::texts:
      return list_of(schema_of(FieldKind::text));
    case FieldKind::numbers:
      return list_of(schema_of(FieldKind::number));
    case FieldKind::amounts:
      return list_of(schema_of(FieldKind::amount));
    case FieldKind::span: {
      Record span = list_of(schema_of(FieldKind::number));
      span["minItems"] = 2;
      span["maxItems"] = 2;
      return span;
    }
    case FieldKind::notes:
      return by_name(schema_of(FieldKind::text));
  }
  return {};
}

void add_fields(Record& schema, const Fields& fields, bool required) {
  for (const Field& field : fields) {
    schema["properties"][field.key] = schema_of(field.kind);
    if (required) schema["required"].push_back(field.key);
  }
}

Record schema_of(const Shape& shape) {
  Record schema = {{"type", "object"}};
  add_fields(schema, shape.required, true);
  add_fields(schema, shape.allowed, false);
  for (const Part& part : shape.parts) {
    Record one = schema_of(*part.shape);
    schema["properties"][part.key] = part.kind == PartKind::object ? one
                                     : part.kind == PartKind::list ? list_of(one)
                                                                   : by_name(one);
  }
  for (const Field& field : shape.each_by_name) {
    schema["properties"][field.key] = by_name(schema_of(field.kind));
  }
  return schema;
}

// Where the field has this value, `then` holds too.
Record where(const char* field, const char* value, Record then) {
  Record condition = {{"required", Record::array({field})}};
  condition["properties"][field] = {{"const", value}};
  return {{"if", std::move(condition)}, {"then", std::move(then)}};
}

Record axes_schema() {
  Record kinds = Record::array({type_of("boolean"), type_of("number"), type_of("string"),
                                list_of(schema_of(FieldKind::text))});
  return by_name({{"anyOf", std::move(kinds)}});
}

Record result_schema() {
  Record schema = schema_of(result_shape());
  schema["properties"]["case"] = axes_schema();
  Record outcomes = Record::array();
  schema["allOf"] = Record::array();
  for (const Outcome outcome :
       {Outcome::measured, Outcome::derived, Outcome::skipped, Outcome::wrong, Outcome::failed}) {
    outcomes.push_back(name(outcome));
    Record required = Record::array();
    for (const Field& field : fields_of(outcome)) required.push_back(field.key);
    if (required.empty()) continue;
    schema["allOf"].push_back(where("outcome", name(outcome), {{"required", std::move(required)}}));
  }
  schema["properties"]["outcome"] = {{"enum", std::move(outcomes)}};
  schema["properties"]["seconds"]["properties"]["n"]["minimum"] = 1;
  return schema;
}

}  // namespace

Record journal_schema() {
  Record schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                   {"title", "A record, which is a line of a journal of Duet"},
                   {"type", "object"},
                   {"required", Record::array({"type", "schema"})}};
  schema["properties"]["type"] = {{"enum", Record::array({"environment", "result", "end"})}};
  schema["properties"]["schema"] = {{"const", kJournalSchema}};
  schema["allOf"] = Record::array();
  for (const char* type : {"environment", "result", "end"}) {
    schema["allOf"].push_back(where("type", type, {{"$ref", std::string("#/$defs/") + type}}));
  }
  schema["$defs"] = {{"environment", schema_of(environment_shape())},
                     {"result", result_schema()},
                     {"end", schema_of(end_shape())}};
  return schema;
}

}  // namespace duet
