#pragma once

#include <cstdint>

#include "core/random.h"

namespace duet {

// The number in the packets of the call behind call `last`: of the first it is 1, and 0 is no
// call's. Neighbours are odd and even.
DUET_HOST_DEVICE inline std::uint32_t next_packet_number(std::uint32_t last) {
  return last + 1 == 0 ? 2 : last + 1;
}

}  // namespace duet
