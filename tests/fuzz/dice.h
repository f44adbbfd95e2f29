// Random choices that depend on the seed alone, on every platform.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/random.h"

namespace duet {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t word() { return random_word(seed_, next_++); }
  // 0 to count - 1; 0 if there is nothing to choose from.
  std::size_t below(std::size_t count) { return count == 0 ? 0 : word() % count; }
  template <typename List>
  const auto& one_of(const List& list) {
    return list[below(list.size())];
  }

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

}  // namespace duet
