#pragma once

#include <vector>

#include "timing/measurement.h"

namespace duet {

// Conclusions from finished cases of `duet collective`: two kinds of record.
//
// collective_crossover: for each call and each range of sizes, which engine is the fastest.
// - An engine is ahead at a size where its median is at least 1% faster than the second-fastest and
//   the intervals of the two medians do not overlap.
// - crossover_bytes, last_bytes: the first and last measured size of the range. The engine is ahead
//   at both, and no engine is ahead of it between them.
// - against, times_as_fast: the fastest other engine at last_bytes, and the ratio of the two times.
// - packet, against_packet: of engines that put in packets, which compete with each size of those.
// - smallest_bytes, largest_bytes: the range of sizes at which several engines were measured.
// - `auto` is left out where `dma` or `kernel` was measured, because it runs one of the two.
//
// collective_curve: the line fitted to each engine's bus bandwidth, as copy_curve (timing/fit.h).
std::vector<Measurement> conclude_collectives(const std::vector<Finished>& finished);

}  // namespace duet
