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

const char* expected(Kind kind) {
  switch (kind) {
    case Kind::text:
      return "a text";
    case Kind::truth:
      return "true or false";
    case Kind::number:
      return "a number";
    case Kind::amount:
      return "a number, 0 or more";
    case Kind::bytes:
      return "a whole number, 0 or more";
    case Kind::whole:
      return "a whole number";
    case Kind::object:
      return "an object";
    case Kind::list:
      return "a list";
    case Kind::texts:
      return "a list of texts";
    case Kind::amounts:
      return "a list of numbers, 0 or more";
    case Kind::span:
      return "two rising numbers";
    case Kind::notes:
      return "an object of texts";
  }
  return "";
}

}  // namespace

bool is(const Record& value, Kind kind) {
  const auto all = [&](Kind part) {
    return std::all_of(value.begin(), value.end(), [&](const Record& v) { return is(v, part); });
  };
  switch (kind) {
    case Kind::text:
      return value.is_string();
    case Kind::truth:
      return value.is_boolean();
    case Kind::number:
      return value.is_number();
    case Kind::amount:
      return value.is_number() && value.get<double>() >= 0;
    case Kind::bytes:
      return value.is_number_unsigned() && value.get<std::uint64_t>() <= kMost<std::int64_t>;
    case Kind::whole:
      if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= kMost<int>;
      return value.is_number_integer() &&
             value.get<std::int64_t>() >= std::numeric_limits<int>::min();
    case Kind::object:
      return value.is_object();
    case Kind::list:
      return value.is_array();
    case Kind::texts:
      return value.is_array() && all(Kind::text);
    case Kind::amounts:
      return value.is_array() && all(Kind::amount);
    case Kind::span:
      return value.is_array() && value.size() == 2 && all(Kind::number) && value[0] <= value[1];
    case Kind::notes:
      return value.is_object() && all(Kind::text);
  }
  return false;
}

void require(const Record& object, const std::string& at, const Field& field) {
  const auto found = object.find(field.key);
  if (found == object.end()) {
    throw Error(
        fmt::format("\"{}{}\" is missing: expected {}", at, field.key, expected(field.kind)));
  }
  if (!is(*found, field.kind)) {
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
