#pragma once

#include <functional>
#include <string>

#include "team/processes.h"

namespace duet {

// Collective: every process runs its share; returns when all have succeeded. If any throws, all
// throw: a process whose own share failed its own error, the others the error of the lowest such
// process, of the same type, with its name. Begins an epoch, so that later waits do not see the
// failure. `share` may wait for the other processes, but not on a device for what they would have
// enqueued: Unavailable is no failure (Processes::decline()).
void run_together(Processes& processes, const std::function<void()>& share);

}  // namespace duet
