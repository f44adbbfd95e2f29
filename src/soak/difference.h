#pragma once

#include <string>

#include "device/device.h"
#include "device/stream.h"

namespace duet {

// "2 of 4096 bytes differ, the first at offset 17 (address 0x7f0000000011): 0x41 instead of 0x40".
// The span is read again, so it must not change meanwhile.
std::string difference_text(const Span& span, const Difference& difference, const Fill& expected);
std::string difference_text(const Span& span, const Difference& difference, const Span& expected);

// Whether memory keeps what is written to it: its owner fills the span, which must be in no use,
// and checks it. The span then has other contents.
bool keeps(const Span& span, const Fill& fill);

// Changes a bit of the span's byte `offset`.
void flip_bit(const Span& span, std::size_t offset);

// Seconds for any wait of a soak's round that is not for the round's own time.
inline constexpr double kSoakDeadline = 120;

}  // namespace duet
