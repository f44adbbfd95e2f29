// What a Fill leaves in memory, by the calling thread: for devices whose memory the CPU addresses.
#pragma once

#include <cstddef>

#include "device/device.h"

namespace duet {

// Writes, or compares with, what `fill` describes, at `data`, which lies `offset` bytes into the
// span that the fill was given for; where the fill is of elements, whole ones.
void write_fill(const Fill& fill, std::byte* data, std::size_t offset, std::size_t bytes);
Difference compare_fill(const Fill& fill, const std::byte* data, std::size_t offset,
                        std::size_t bytes);

}  // namespace duet
