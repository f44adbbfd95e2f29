// What finished collectives say together: which engine is the fastest at which sizes, and the
// latency and bandwidth of each.
#pragma once

#include <vector>

#include "timing/measurement.h"

namespace duet {

// collective_crossover: of each call, for each range of sizes, the engine that is the fastest of
// all, `against` the fastest other. crossover_bytes and last_bytes are the first and the last
// measured size of the range, at both of which it is ahead beyond the intervals of the two medians
// and by 1% at least, and never behind so between them; smallest_bytes and largest_bytes are the
// sizes that several engines were measured at, and times_as_fast how far it is ahead at the last.
// `auto` does as another engine does, and takes no part where `dma` or `kernel` is there.
// collective_curve: the line through each engine's bus bandwidth, as copy_curve (timing/fit.h).
std::vector<Measurement> conclude_collectives(const std::vector<Finished>& finished);

}  // namespace duet
