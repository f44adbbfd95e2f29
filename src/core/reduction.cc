// Names of the reductions.
#include "core/reduction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/suggestion.h"

namespace duet {

std::string_view name(Reduction op) {
  switch (op) {
    case Reduction::sum:
      return "sum";
    case Reduction::max:
      return "max";
    case Reduction::min:
      return "min";
    case Reduction::avg:
      return "avg";
  }
  return "?";
}

std::vector<Reduction> all_reductions() {
  return {Reduction::sum, Reduction::max, Reduction::min, Reduction::avg};
}

Reduction parse_reduction(std::string_view text) {
  std::vector<std::string_view> known;
  for (const Reduction op : all_reductions()) {
    if (name(op) == text) return op;
    known.push_back(name(op));
  }
  throw UsageError(fmt::format("unknown reduction '{}'{}: expected one of {}", text,
                               did_you_mean(text, known), fmt::join(known, ", ")));
}

}  // namespace duet
