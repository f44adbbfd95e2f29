#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace duet {

// Which tokens of a vocabulary a matrix has a row for, or a column: those from `first` on. Others
// are on other ranks.
struct VocabularyPart {
  std::int64_t first = 0;
  std::int64_t vocabulary = 0;  // of all ranks; 0: the matrix has all tokens

  bool is_whole() const { return vocabulary == 0; }
  // The token's row in a matrix with `count` tokens; -1: it has none.
  DUET_HOST_DEVICE std::int64_t row_of(std::int64_t token, std::int64_t count) const {
    const std::int64_t row = token - first;
    return row >= 0 && row < count ? row : -1;
  }
};

}  // namespace duet
