// How the part of a collective that stays on its device is copied.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "device/stream.h"

namespace duet {

// The copy runs as a kernel, on a lane of the highest priority.
enum class LocalCopyMethod {
  few_blocks,                // waits while another kernel occupies all compute units
  one_warp_per_sm,           // starts at once, also beside such a kernel
  one_warp_per_sm_deferred,  // the same, after the first kDeferLocalCopyBytes of pushes
};

// What links send, and a kernel of one warp per SM copies, in 40 us.
inline constexpr std::size_t kDeferLocalCopyBytes = 16u << 20;

// The method for these copies; `pushes`: there are pushes after which they can be deferred.
LocalCopyMethod choose_local_copy(const std::vector<Copy>& copies, bool pushes,
                                  std::size_t defer_bytes = kDeferLocalCopyBytes);

KernelShape shape_of(LocalCopyMethod method);
std::string text_of(LocalCopyMethod method);  // for algorithm()

}  // namespace duet
