// One outcome for all processes: a share of work that fails in one has failed in all.
#pragma once

#include <functional>
#include <string>

#include "team/processes.h"

namespace duet {

// Every process runs its share beside the others'; returns when all have succeeded. Where any
// threw, all throw: a process whose own share failed its own error, the others the first one's by
// process, of the same type, with the name of that process. Begins an epoch: waits after it do not
// know of the failure. `share` may wait for the other processes.
void run_together(Processes& processes, const std::function<void()>& share);

}  // namespace duet
