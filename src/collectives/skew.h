#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace duet {

// How the bytes of an all_to_all_v are distributed over pairs of ranks.
enum class Skew {
  even,       // every pair sends the same amount, as in all_to_all
  random,     // every pair sends a random amount; the same amounts in every run
  one_heavy,  // each rank sends rank 0 as much as all other ranks together
};

std::string_view name(Skew skew);
Skew parse_skew(std::string_view text);  // throws UsageError that lists the known names

// Collective::counts: elements from rank f to rank t at [f * ranks + t]. They are scaled so that no
// rank sends or receives more than `bytes`.
std::vector<std::uint64_t> skewed_counts(Skew skew, DType dtype, std::uint64_t bytes, int ranks);

}  // namespace duet
