// Starting a collective by MPI: which calls, on which addresses.
#pragma once

#include <mpi.h>

#include <vector>

#include "collectives/collective.h"
#include "collectives/mpi/chunk.h"

namespace duet::mpi {

// What MPI lacks for the collective, in words; "" if nothing.
std::string missing(const Collective& collective, bool in_place);

// One rank's part, worked out once.
class Requests {
 public:
  // All calls go to `comm`, which must outlive this.
  Requests(MPI_Comm comm, const Collective& collective);

  // Starts all of it on memory that MPI can reach. Equal to `recv` plus the offset that in_place
  // has (collective.h), `send` is in place. Earlier requests must be done. Throws Error.
  void start(const std::byte* send, std::byte* recv);
  // Is all of it done? Throws Error.
  bool test();

 private:
  void start_moves(const std::byte* send, std::byte* recv);
  void start_reduction(const std::byte* send, std::byte* recv, MPI_Request* request);
  void start_collective(const std::byte* send, std::byte* recv, MPI_Request* request);

  struct Message {
    Move move;
    Chunk chunk;
  };

  MPI_Comm comm_;
  int rank_ = 0;
  Collective collective_;
  Chunk chunk_;
  std::vector<Message> sends_, receives_;  // of what MPI has no call for
  std::vector<MPI_Request> requests_;
};

}  // namespace duet::mpi
