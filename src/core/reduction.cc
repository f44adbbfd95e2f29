#include "core/reduction.h"

#include "core/names.h"

namespace duet {
namespace {

constexpr NamedValue<Reduction> kReductions[] = {{Reduction::sum, "sum"},
                                                 {Reduction::max, "max"},
                                                 {Reduction::min, "min"},
                                                 {Reduction::avg, "avg"}};

}  // namespace

std::string_view name(Reduction op) { return name_of(kReductions, op); }

std::vector<Reduction> all_reductions() { return values_in(kReductions); }

Reduction parse_reduction(std::string_view text) {
  return parse_name(kReductions, "unknown reduction", text);
}

}  // namespace duet
