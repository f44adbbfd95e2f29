// Waiting for MPI with a deadline, and for no longer than there is somebody to wait for.
#pragma once

#include <functional>
#include <string>

#include "team/processes.h"

namespace duet::mpi {

// Calls `done` until it is true. Throws PeerFailed when another process fails or is gone, Timeout
// naming `what` after the deadline.
void wait_for(Processes* processes, const std::string& what, double deadline_seconds,
              const std::function<bool()>& done);

}  // namespace duet::mpi
