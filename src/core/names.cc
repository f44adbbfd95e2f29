#include "core/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"

namespace duet {
namespace {

using Row = std::vector<std::size_t>;

// The edit distance: letters to change, add, leave out, or swap with their neighbour.
std::size_t edits(std::string_view a, std::string_view b) {
  Row before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view text, const std::vector<std::string_view>& known) {
  std::string_view nearest;
  std::size_t fewest = std::max<std::size_t>(text.size() / 3, 1) + 1;
  for (const std::string_view word : known) {
    const std::size_t count = edits(text, word);
    // Every word is near a known word of one or two letters, so that a match must keep a letter.
    if (count >= fewest || count >= word.size()) continue;
    fewest = count;
    nearest = word;
  }
  return nearest.empty() ? "" : " (did you mean '" + std::string(nearest) + "'?)";
}

std::string unknown_engine_text(const std::string& workload, const std::string& asked,
                                const std::string& machine, const std::vector<std::string>& known) {
  return fmt::format("unknown {} engine '{}'{}: {} has {}", workload, asked,
                     did_you_mean(asked, known), machine,
                     known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
}

void throw_unknown_name(const std::string& what, std::string_view text,
                        const std::vector<std::string_view>& known) {
  throw UsageError(fmt::format("{} '{}'{}: expected one of {}", what, text,
                               did_you_mean(text, known), fmt::join(known, ", ")));
}

}  // namespace duet
