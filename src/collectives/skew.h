// Who sends how much to whom in an all_to_all_v.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace duet {

enum class Skew {
  even,       // every pair the same: an all_to_all
  random,     // every pair its own share, the same in every run
  one_heavy,  // rank 0 receives from everyone as much as all the others together
};

std::string_view name(Skew skew);
Skew parse_skew(std::string_view text);  // throws UsageError that lists the known names

// Elements from rank f to rank t at [f * ranks + t], so many that the busiest rank sends or
// receives at most `bytes`.
std::vector<std::uint64_t> skewed_counts(Skew skew, DType dtype, std::uint64_t bytes, int ranks);

}  // namespace duet
