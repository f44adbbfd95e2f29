// The sum of two values that a reduction accumulates, for host and GPU code alike.
#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace duet {

template <typename Value>
DUET_HOST_DEVICE constexpr Value sum_of(Value a, Value b) {
  return a + b;
}

// Wraps around.
DUET_HOST_DEVICE constexpr std::int32_t sum_of(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

}  // namespace duet
