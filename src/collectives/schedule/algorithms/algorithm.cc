#include "collectives/schedule/algorithms/algorithm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <string>

#include "core/error.h"
#include "core/names.h"

namespace duet {

const std::vector<Algorithm>& all_algorithms() {
  static const std::vector<Algorithm> all = {
#define DUET_ALGORITHM(function) function(),
#include "collectives/schedule/algorithms/list.h"
#undef DUET_ALGORITHM
  };
  return all;
}

bool fits(const Algorithm& algorithm, const AlgorithmInput& input) {
  return algorithm.over_nodes == (input.nodes != nullptr) && algorithm.fits(input);
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

const Algorithm* chosen_algorithm(const AlgorithmInput& input, std::string& why_not) {
  const Algorithm* const chosen = chosen_algorithm();
  if (chosen == nullptr || fits(*chosen, input)) return chosen;
  const std::string over =
      input.nodes == nullptr ? "" : fmt::format(" over {} nodes", input.nodes->nodes());
  why_not = fmt::format("DUET_ALGORITHM={} does not fit {} of {} ranks{}", chosen->name,
                        name(input.collective.kind), input.ranks, over);
  return nullptr;
}

std::string choice_text() {
  const Algorithm* const chosen = chosen_algorithm();
  return std::string(chosen == nullptr ? "-" : chosen->name);
}

void expect_same_choice(const std::vector<std::string>& texts) {
  for (const std::string& each : texts) {
    if (each == texts.front()) continue;
    throw BadArgument(fmt::format("DUET_ALGORITHM: expected the same on all ranks, not {} and {}",
                                  texts.front(), each));
  }
}

}  // namespace duet
