// Rows of matrices that a caller multiplies within a collective (MatrixRows, collective.h).
#pragma once

#include <cstdint>
#include <functional>

#include "device/buffer.h"

namespace duet {

class Stream;

// Rows [first, first + count) of a matrix.
struct RowBlock {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

// Of an all_gather rows of a factor, which stand in `place`; of a reduction rows of the rank's
// partial sums, which come to `place`, or are added to what is there.
struct CallRows {
  RowBlock rows;
  Span place;
  bool adds = false;
  // Those with different numbers, 0 and 1, may run at the same time, on different streams.
  int stream = 0;
};

// Enqueues their multiplication on the stream, without waiting.
using MultiplyRows = std::function<void(Stream&, const CallRows&)>;

}  // namespace duet
