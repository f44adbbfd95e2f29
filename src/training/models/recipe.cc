#include "training/models/recipe.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/names.h"

namespace duet {

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {
      {"fp32", DType::fp32, DType::fp32, DType::fp32, false},
      {"amp", DType::bf16, DType::bf16, DType::fp32, true},
      {"bf16", DType::bf16, DType::bf16, DType::bf16, false},
      {"fp8", DType::bf16, DType::bf16, DType::bf16, false, true},
  };
  return all;
}

Recipe find_recipe(const std::string& name) {
  std::vector<std::string> names;
  for (const Recipe& each : recipes()) {
    if (each.name == name) return each;
    names.push_back(each.name);
  }
  throw UsageError(fmt::format("unknown recipe '{}'{}: expected one of {}", name,
                               did_you_mean(name, names), fmt::join(names, ", ")));
}

}  // namespace duet
