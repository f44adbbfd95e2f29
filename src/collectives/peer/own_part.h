// The part of a collective that stays on its device.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "device/stream.h"

namespace duet {

// How a kernel copies it, on a lane of the highest priority.
enum class OwnPart {
  few_blocks,  // they wait where another kernel has taken all units
  thin,        // a thin kernel, at once, which runs beside such a kernel
  thin_later   // the same behind kHeadStart bytes of pushes
};

// What links send, and a thin kernel copies, in 40 us.
inline constexpr std::size_t kHeadStart = 16u << 20;

// For these copies; `pushes`: there are some that they can go behind.
OwnPart own_part(const std::vector<Copy>& copies, bool pushes, std::size_t head_start = kHeadStart);

KernelShape shape_of(OwnPart way);
std::string words(OwnPart way);  // for algorithm()

}  // namespace duet
