// What somebody who mistyped a word may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace duet {

// " (did you mean 'copy'?)", of the known word that `text` is nearest to; "" where none is near: at
// most a third of the letters to be changed, added, left out or swapped with their neighbours.
std::string did_you_mean(std::string_view text, const std::vector<std::string_view>& known);

// Of any list of texts.
template <typename Words>
std::string did_you_mean(std::string_view text, const Words& known) {
  return did_you_mean(text, std::vector<std::string_view>(known.begin(), known.end()));
}

}  // namespace duet
