// The one definition of the fields of a journal's records: check_record() checks records by it, and
// the published schema (docs/journal.schema.json) is written from it. docs/results.md describes the
// fields. Fields that it does not name may hold anything.
#pragma once

#include <vector>

#include "results/fields.h"

namespace duet {

struct Shape;

enum class PartKind {
  object,
  list,    // of objects
  by_name  // an object of objects
};

// A field that holds objects of a shape.
struct Part {
  const char* key;
  PartKind kind;
  const Shape* shape;
};

// The fields of an object.
struct Shape {
  Fields required;
  Fields allowed;                // that may be missing
  std::vector<Part> parts = {};  // which may be missing, unless they are in `required` too
  Fields each_by_name = {};      // objects, which may be missing, whose values are of one kind
};

const Shape& environment_shape();
const Shape& result_shape();
const Shape& end_shape();

// What a result with this outcome has besides; nothing for skipped, wrong and failed.
const Fields& fields_of(Outcome outcome);

}  // namespace duet
