// How the part of a collective that stays on its device is copied.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "device/stream.h"

namespace duet {

// By a kernel, on a lane of the highest priority.
enum class LocalCopy {
  few_blocks,                // which wait while another kernel has taken all compute units
  one_warp_per_sm,           // at once; it runs beside such a kernel
  one_warp_per_sm_deferred,  // the same, behind the first kDeferLocalCopyBytes of pushes
};

// What links send, and a kernel of one warp per SM copies, in 40 us.
inline constexpr std::size_t kDeferLocalCopyBytes = 16u << 20;

// The way for these copies; `pushes`: there are pushes that they can be deferred behind.
LocalCopy local_copy(const std::vector<Copy>& copies, bool pushes,
                     std::size_t defer_bytes = kDeferLocalCopyBytes);

KernelShape shape_of(LocalCopy way);
std::string words(LocalCopy way);  // for algorithm()

}  // namespace duet
