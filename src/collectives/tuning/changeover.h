#pragma once

#include <optional>
#include <vector>

#include "collectives/tuning/thresholds.h"
#include "timing/measurement.h"
#include "timing/mode.h"

namespace duet {

// The times of one collective at one size by the two engines between which `auto` chooses.
struct EngineTimes {
  std::uint64_t bytes = 0;
  double kernel_seconds = 0;
  double dma_seconds = 0;
};

// The size in bytes from which on `dma` is at least as fast as `kernel`. It lies between the last
// size at which `kernel` is faster and the next size, where the ratio of the two times,
// interpolated on logarithmic scales, is 1. It is rounded to an eighth of a power of two.
// 0: `dma` is never slower. kNever: `kernel` is faster at the largest size.
// `times` has at least one entry and is sorted by rising size.
std::uint64_t changeover(const std::vector<EngineTimes>& times);

// The changeover of every collective that was measured by `kernel` and by `dma` at the same sizes.
// Times that differ in other parameters (in place, element type) are combined.
Thresholds changeovers(const std::vector<Finished>& finished);

// Engines that are measured beside NCCL: the drop-in before it, which makes calls of kInPackets up
// to kMostDropInPackets as packets and all others by copies; and its kernel of chunks.
constexpr const char *kDropInEngine = "nccl-duet", *kDropInKernelEngine = "nccl-duet-kernel";

// Whether the case is a small call, of those in which NCCL and the drop-in's packets or its kernel
// are compared.
bool compares_small_calls(const CaseId& id);
// The mode of those cases where all others are measured as `others`, one call at a time in mode
// adaptive: samples of several calls in a row. A single call of 10 us varies by several
// microseconds, since GPUs do not begin it at the same time. None if `others` is another mode.
std::optional<Mode> small_calls_mode(const Mode& others);
// The other cases: times of calls in a row do not compare with those of single calls.
std::vector<Finished> without_compared_small_calls(std::vector<Finished> finished);

// For every collective that was measured by `nccl` and by `nccl-duet`. A size is fast enough if the
// drop-in reaches 0.98 of NCCL's speed in each of its calls: what is below that is within the noise
// between runs. `copies` is the smallest measured size from which on all sizes are fast enough, or
// kNever if the largest is not. `packets` is the largest measured size up to which all are, or 0 if
// the smallest is not; it is left out if 8 KiB or less was not measured. Smaller calls take as long
// as those.
// `kernel` has the collectives that were measured by `nccl-duet-kernel` too: the measured sizes
// around the first one above `packets` at which that is as fast as NCCL likewise. At these sizes,
// packets and copies are fast enough if they reach 0.98 of the kernel's speed as well.
BesideNccl beside_nccl(const std::vector<Finished>& finished);

}  // namespace duet
