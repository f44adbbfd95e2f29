// A recipe for tests.
#pragma once

#include "training/models/recipe.h"

namespace duet {

// What hosts can of the recipe fp8: all else in fp32.
inline Recipe fp8_on_hosts() {
  return {"fp8 of fp32", DType::fp32, DType::fp32, DType::fp32, false, true};
}

}  // namespace duet
