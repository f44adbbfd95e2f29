// The part of a collective that stays on its device.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "device/stream.h"

namespace duet {

// How a kernel copies it, on a lane of the highest priority.
enum class LocalCopy {
  few_blocks,               // they wait where another kernel has taken all units
  one_warp_per_sm,          // a thin kernel, at once, which runs beside such a kernel
  one_warp_per_sm_deferred  // the same behind kDeferLocalCopyBytes bytes of pushes
};

// What links send, and a thin kernel copies, in 40 us.
inline constexpr std::size_t kDeferLocalCopyBytes = 16u << 20;

// For these copies; `pushes`: there are some that they can go behind.
LocalCopy local_copy(const std::vector<Copy>& copies, bool pushes,
                     std::size_t defer_bytes = kDeferLocalCopyBytes);

KernelShape shape_of(LocalCopy way);
std::string words(LocalCopy way);  // for algorithm()

}  // namespace duet
