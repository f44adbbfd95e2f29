// The shapes that are measured: named sets, and lists that are typed in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace duet {

struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::vector<std::string> sets;  // the sets that it came from; "custom" if typed in
};

// "seed", "llama", "squares", "c3", "quick".
std::vector<std::string> shape_set_names();

// Comma-separated names of sets and shapes MxNxK ("seed,squares,4096x4096x512"). A shape that comes
// several times is listed once, where it came first, and carries all its sets. Throws UsageError.
std::vector<GemmShape> parse_shapes(std::string_view text);

}  // namespace duet
