#include "core/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/suggestion.h"

namespace duet {

void throw_unknown_name(const std::string& what, std::string_view text,
                        const std::vector<std::string_view>& known) {
  throw UsageError(fmt::format("{} '{}'{}: expected one of {}", what, text,
                               did_you_mean(text, known), fmt::join(known, ", ")));
}

}  // namespace duet
