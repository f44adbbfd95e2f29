#include "results/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

namespace duet {
namespace {

// An unsigned JSON number compared with a signed one is cast and may come out negative: this is
// unsigned.
template <typename T>
constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<T>::max());

const char* expected(FieldKind kind) {
  switch (kind) {
    case FieldKind::text:
      return "a text";
    case FieldKind::truth:
      return "true or false";
    case FieldKind::number:
      return "a number";
    case FieldKind::amount:
      return "a number, 0 or more";
    case FieldKind::bytes:
      return "a whole number, 0 or more";
    case FieldKind::whole:
      return "a whole number";
    case FieldKind::object:
      return "an object";
    case FieldKind::list:
      return "a list";
    case FieldKind::texts:
      return "a list of texts";
    case FieldKind::numbers:
      return "a list of numbers";
    case FieldKind::amounts:
      return "a list of numbers, 0 or more";
    case FieldKind::span:
      return "two rising numbers";
    case FieldKind::notes:
      return "an object of texts";
  }
  return "";
}

}  // namespace

bool holds(const Record& value, FieldKind kind) {
  const auto all = [&](FieldKind part) {
    return std::all_of(value.begin(), value.end(), [&](const Record& v) { return holds(v, part); });
  };
  switch (kind) {
    case FieldKind::text:
      return value.is_string();
    case FieldKind::truth:
      return value.is_boolean();
    case FieldKind::number:
      return value.is_number();
    case FieldKind::amount:
      return value.is_number() && value.get<double>() >= 0;
    case FieldKind::bytes:
      return value.is_number_unsigned() && value.get<std::uint64_t>() <= kMost<std::int64_t>;
    case FieldKind::whole:
      if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= kMost<int>;
      return value.is_number_integer() &&
             value.get<std::int64_t>() >= std::numeric_limits<int>::min();
    case FieldKind::object:
      return value.is_object();
    case FieldKind::list:
      return value.is_array();
    case FieldKind::texts:
      return value.is_array() && all(FieldKind::text);
    case FieldKind::numbers:
      return value.is_array() && all(FieldKind::number);
    case FieldKind::amounts:
      return value.is_array() && all(FieldKind::amount);
    case FieldKind::span:
      return value.is_array() && value.size() == 2 && all(FieldKind::number) &&
             value[0] <= value[1];
    case FieldKind::notes:
      return value.is_object() && all(FieldKind::text);
  }
  return false;
}

void require(const Record& object, const std::string& at, const Field& field) {
  const auto found = object.find(field.key);
  if (found == object.end()) {
    throw Error(
        fmt::format("\"{}{}\" is missing: expected {}", at, field.key, expected(field.kind)));
  }
  if (!holds(*found, field.kind)) {
    throw Error(fmt::format("\"{}{}\": expected {}", at, field.key, expected(field.kind)));
  }
}

void require_all(const Record& object, const std::string& at, const Fields& fields) {
  for (const Field& field : fields) require(object, at, field);
}

void allow(const Record& object, const std::string& at, const Fields& fields) {
  for (const Field& field : fields) {
    if (object.contains(field.key)) require(object, at, field);
  }
}

}  // namespace duet
