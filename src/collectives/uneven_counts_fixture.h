// For tests: an all_to_all_v in which no two ranks send each other as much, and some nothing.
#pragma once

#include <cstdint>
#include <vector>

namespace duet {

// Collective::counts: up to three times `count`.
inline std::vector<std::uint64_t> uneven_counts(std::uint64_t count, int ranks) {
  std::vector<std::uint64_t> counts;
  for (int pair = 0; pair < ranks * ranks; ++pair) {
    counts.push_back(count * static_cast<std::uint64_t>((pair / ranks + 2 * pair) % 4));
  }
  return counts;
}

}  // namespace duet
