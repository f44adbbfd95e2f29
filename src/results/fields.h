// Checks the fields of a JSON object. Messages name the field and what was expected. Every number
// is finite: JSON has no others, and the parser refuses numbers that overflow.
#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

enum class FieldKind {
  text,
  truth,
  number,
  amount,  // a number, 0 or more
  bytes,   // a whole number, 0 or more, in the range of std::int64_t
  whole,   // a whole number in the range of int
  object,
  list,
  texts,    // a list of text
  numbers,  // a list of number
  amounts,  // a list of amount
  span,     // [begin, end]: two numbers, begin <= end
  notes     // an object whose values are text
};

struct Field {
  const char* key;
  FieldKind kind;
};
using Fields = std::vector<Field>;

bool holds(const Record& value, FieldKind kind);

// Throw Error unless the object has the field, and its value is of the field's kind. `at` is the
// object's path in messages: "seconds.", or "" for the record itself.
void require(const Record& object, const std::string& at, const Field& field);
void require_all(const Record& object, const std::string& at, const Fields& fields);
// Throws Error if the object has one of the fields with a value of another kind. The fields may be
// missing.
void allow(const Record& object, const std::string& at, const Fields& fields);

}  // namespace duet
