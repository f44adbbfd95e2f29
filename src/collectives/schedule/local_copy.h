// How the part of a collective that stays on its device is copied.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/engine.h"
#include "device/stream.h"

namespace duet {

// The copy runs as a kernel, on a lane of the highest priority.
enum class LocalCopyMethod {
  few_blocks,                // waits while another kernel occupies all compute units
  one_warp_per_sm,           // starts at once, also beside such a kernel
  one_warp_per_sm_deferred,  // the same, after the first kDeferLocalCopyBytes of pushes
};

// What links send, and a kernel of one warp per SM copies, in 40 us.
inline constexpr std::uint64_t kDeferLocalCopyBytes = 16u << 20;

// Whether a copy can use loads and stores of 16 bytes; so few threads need those to keep enough
// bytes in flight.
bool aligned_alike(const Span& target, const Span& source);
// The method for so many bytes, all aligned alike or not; `pushes`: there are pushes after which
// they can be deferred.
LocalCopyMethod choose_local_copy(std::uint64_t bytes, bool aligned, bool pushes,
                                  std::uint64_t defer_bytes = kDeferLocalCopyBytes);
// Whether the part of a collective that stays with its rank is aligned alike in both buffers.
bool own_part_aligned(const Collective& collective, int rank, int ranks,
                      const CollectiveBuffers& buffers);

KernelShape shape_of(LocalCopyMethod method);
std::string text_of(LocalCopyMethod method);  // for algorithm()

}  // namespace duet
