#include "results/nesting.h"

#include <cstddef>

namespace duet {

bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_text = !in_text;
    } else if (!in_text && (c == '{' || c == '[')) {
      if (++depth > kDeepestNesting) return true;
    } else if (!in_text && (c == '}' || c == ']')) {
      --depth;
    }
  }
  return false;
}

}  // namespace duet
