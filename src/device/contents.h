// The contents that a Fill specifies, written and compared by the calling thread. For devices whose
// memory the CPU can address.
#pragma once

#include <cstddef>

#include "device/device.h"

namespace duet {

// Write the contents of `fill` at `data`, or compare the memory there with them. `data` is `offset`
// bytes after the beginning of the fill's span. For fills of elements, `offset` and `bytes` must be
// whole elements.
void write_fill(const Fill& fill, std::byte* data, std::size_t offset, std::size_t bytes);
Difference compare_fill(const Fill& fill, const std::byte* data, std::size_t offset,
                        std::size_t bytes);

// Where memory differs from other memory of that size.
Difference compare_bytes(const std::byte* data, const std::byte* other, std::size_t bytes);

}  // namespace duet
