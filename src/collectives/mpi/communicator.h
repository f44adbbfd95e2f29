// What the engines of this module have in common: MPI's communicator for the ranks of a team, and
// what this MPI can reach.
#pragma once

#include <mpi.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "device/device.h"
#include "team/failure_flag.h"
#include "team/processes.h"
#include "team/team.h"

namespace duet::mpi {

// The communicator of one session. Once a rank has failed, or a call did not end, peers may wait
// for ever in pending calls: plans start no further ones, and the communicator is not freed.
struct Communicator {
  MPI_Comm comm = MPI_COMM_NULL;
  std::atomic<bool> call_failed{false};
  FailureFlag failure;

  explicit Communicator(Team& team) : failure(team) {}
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  bool usable() const { return !call_failed && !failure.failed(); }
  // Throws PeerFailed after a rank's failure, and Error after one that no other rank knows of.
  void require_usable() const;
};

// A session's own communicator, so that its messages cannot match those of other users. Collective;
// called outside Team::each(), and the team must outlive it. Throws Unavailable in all processes
// unless each has one rank, as mpirun starts them.
std::shared_ptr<Communicator> open_communicator(Team& team);

// Product and version, from the start of MPI's version string: "Open MPI v4.1.4".
std::string library_name();

// Whether this MPI can access memory of such a device.
bool reaches(const DeviceInfo& info);

// Calls `done` until it returns true. Throws PeerFailed when another process fails or has exited,
// and Timeout, with `what` in its message, after the deadline. `processes` may be null.
void wait_for(Processes* processes, const std::string& what, double deadline_seconds,
              const std::function<bool()>& done);

}  // namespace duet::mpi
