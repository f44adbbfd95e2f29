#include "core/seed_sizes.h"

namespace duet {

std::vector<std::uint64_t> seed_sizes() {
  constexpr std::uint64_t kSmallest = 4096, kLargest = 4096ull * 128256 * 4;
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = kSmallest; bytes <= kLargest; bytes *= 2) sizes.push_back(bytes);
  sizes.push_back(kLargest);
  return sizes;
}

}  // namespace duet
