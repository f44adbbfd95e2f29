// A JSON object's fields held against what they should be, with messages that name the field and
// what was expected. Every number is finite: JSON has no others, and the parser refuses those that
// overflow.
#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace duet {

enum class Kind {
  text,
  truth,
  number,
  amount,  // a number, 0 or more
  bytes,   // whole, 0 or more; get<std::int64_t>() gives it as it is
  whole,   // get<int>() gives it as it is
  object,
  list,
  texts,    // a list
  amounts,  // a list
  span,     // begin and end: two numbers, the second at least the first
  notes     // an object of texts
};

struct Field {
  const char* key;
  Kind kind;
};
using Fields = std::vector<Field>;

bool is(const Record& value, Kind kind);

// All throw Error. `at` is the way to the object, as messages name it: "seconds.", "" for the
// record itself.
void require(const Record& object, const std::string& at, const Field& field);
void require_all(const Record& object, const std::string& at, const Fields& fields);
// Fields that may be left out.
void allow(const Record& object, const std::string& at, const Fields& fields);

}  // namespace duet
