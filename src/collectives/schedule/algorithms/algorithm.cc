#include "collectives/schedule/algorithms/algorithm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "core/error.h"
#include "core/suggestion.h"

namespace duet {

const std::vector<Algorithm>& all_algorithms() {
  static const std::vector<Algorithm> all = {
#define DUET_ALGORITHM(function) function(),
#include "collectives/schedule/algorithms/list.h"
#undef DUET_ALGORITHM
  };
  return all;
}

const Algorithm* chosen_algorithm() {
  const char* const value = std::getenv("DUET_ALGORITHM");
  const std::string_view text = value == nullptr ? "" : value;
  if (text.empty()) return nullptr;
  std::vector<std::string_view> names;
  for (const Algorithm& each : all_algorithms()) {
    if (each.name == text) return &each;
    names.push_back(each.name);
  }
  throw UsageError(fmt::format("DUET_ALGORITHM={}: unknown{}: expected {}", text,
                               did_you_mean(text, names), fmt::join(names, ", ")));
}

}  // namespace duet
