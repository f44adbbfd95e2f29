// What finished collectives say together: from which size on one engine is faster than another, and
// the latency and bandwidth of each.
#pragma once

#include <vector>

#include "timing/measurement.h"

namespace duet {

// collective_crossover: for each two engines the one that is ahead at the largest size, `against`
// the other; crossover_bytes is the smallest measured size from which on it is at least as fast and
// stays so, smallest_bytes and largest_bytes are the sizes that both were measured at, and
// times_as_fast how far it is ahead at the largest. collective_curve: latency_us and the limit of
// the bus bandwidth of each engine, as copy_curve (copy/fit.h).
std::vector<Measurement> conclude_collectives(const std::vector<Finished>& finished);

}  // namespace duet
