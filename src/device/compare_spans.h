#pragma once

#include <optional>

#include "device/device.h"

namespace duet {

// Implemented beside Device by devices that compare memory by a kernel.
class SpanComparer {
 public:
  virtual ~SpanComparer() = default;
  // Blocks. The spans have equal sizes, and the device reaches both.
  virtual std::optional<Difference> compare_spans(const Span& span, const Span& other) = 0;
};

// Compares the contents of two spans of one device to the bit; blocking. Waits for no stream.
// nullopt if they are equal. Throws BadArgument if the sizes differ, or a span has no contents.
std::optional<Difference> compare_spans(const Span& span, const Span& other);

}  // namespace duet
