// One rank's part of a collective by MPI, driven by the host.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "collectives/engine.h"
#include "collectives/mpi/requests.h"
#include "collectives/mpi/staging.h"

namespace duet::mpi {

// A communicator of a session's own. `failed` once a call did not end: peers may wait for ever in
// what is under way, and nothing is started any more.
struct Communicator {
  MPI_Comm comm = MPI_COMM_NULL;
  std::atomic<bool> failed{false};

  Communicator() = default;
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
};

class MpiPlan : public CollectivePlan {
 public:
  // `direct`: MPI reaches the buffers; else they go through pinned memory, which this allocates.
  MpiPlan(std::shared_ptr<Communicator> communicator, Rank& rank, const Collective& collective,
          const CollectiveBuffers& buffers, bool direct, std::string algorithm);

  // Waits for the stream, then for MPI. Throws Timeout, or Error when MPI fails or another process
  // of the run does.
  void enqueue(Stream& stream) override;
  std::string algorithm() const override { return algorithm_; }
  bool host_driven() const override { return true; }

 private:
  void run();

  std::shared_ptr<Communicator> communicator_;
  Processes* processes_;
  int rank_;
  CollectiveKind kind_;
  bool broadcasts_;  // is the root of a broadcast
  CollectiveBuffers buffers_;
  Staging staging_;
  Requests requests_;
  std::string algorithm_;
};

}  // namespace duet::mpi
