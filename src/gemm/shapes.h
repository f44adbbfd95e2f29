#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace duet {

struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::vector<std::string> sets;  // the sets that contain it; "custom" if given as MxNxK
};

// "seed", "llama", "squares", "c3", "quick".
std::vector<std::string> shape_set_names();

// Parses comma-separated names of sets and shapes MxNxK ("seed,squares,4096x4096x512"). A shape
// that occurs several times is listed once, at its first place, with all its sets. Throws
// UsageError.
std::vector<GemmShape> parse_shapes(std::string_view text);

}  // namespace duet
