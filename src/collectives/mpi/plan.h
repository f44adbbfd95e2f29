#pragma once

#include <memory>
#include <string>

#include "collectives/engine.h"
#include "collectives/mpi/communicator.h"
#include "collectives/mpi/requests.h"
#include "collectives/mpi/staging.h"

namespace duet::mpi {

// One rank's part of a collective by MPI. The host thread drives it.
class MpiPlan : public CollectivePlan {
 public:
  // `direct`: MPI can access the buffers. Otherwise data are staged in pinned memory, which the
  // constructor allocates.
  MpiPlan(std::shared_ptr<Communicator> communicator, Rank& rank, const Collective& collective,
          const CollectiveBuffers& buffers, bool direct, std::string algorithm);

  // Blocks until the stream's earlier work and then the MPI calls have completed. Throws Timeout,
  // Error when MPI or another process of the run fails, and after a rank has failed PeerFailed.
  void enqueue(Stream& stream) override;
  // `beside` is computed while the host waits.
  void enqueue_beside(Stream& stream, SideStreams&, const CallCompute& compute) override;
  std::string algorithm() const override { return algorithm_; }
  bool host_driven() const override { return true; }

 private:
  void run();

  std::shared_ptr<Communicator> communicator_;
  Processes* processes_;
  int rank_;
  CollectiveKind kind_;
  bool broadcasts_;  // this rank is the root of a broadcast
  CollectiveBuffers buffers_;
  Staging staging_;
  Requests requests_;
  std::unique_ptr<Event> sent_;  // what MPI sends is there
  std::string algorithm_;
};

}  // namespace duet::mpi
