#pragma once

#include <functional>
#include <string>

#include "team/processes.h"

namespace duet::mpi {

// Calls `done` until it returns true. Throws PeerFailed when another process fails or has exited,
// and Timeout, with `what` in its message, after the deadline. `processes` may be null.
void wait_for(Processes* processes, const std::string& what, double deadline_seconds,
              const std::function<bool()>& done);

}  // namespace duet::mpi
