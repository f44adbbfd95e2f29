#pragma once

#include <string_view>

namespace duet {

// Records that Duet writes nest five levels. Deeper nesting than this could exhaust the stack of
// the recursive functions that copy or print JSON, the parser's among them.
inline constexpr int kDeepestNesting = 32;

// True if JSON text nests objects and lists deeper than that. For any bytes.
bool nests_too_deep(std::string_view text);

}  // namespace duet
