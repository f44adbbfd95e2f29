#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "collectives/collective.h"

namespace duet::mpi {

// A number of bytes as an MPI count and type: `count()` elements of `type()` without gaps. MPI
// counts are `int`, so sizes of 2 GiB or more need a derived type, which this object owns.
// Move-only.
class Chunk {
 public:
  explicit Chunk(std::uint64_t bytes);
  Chunk(Chunk&& other) noexcept;
  Chunk& operator=(Chunk&&) = delete;
  ~Chunk();

  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }

 private:
  int count_ = 0;
  MPI_Datatype type_ = MPI_BYTE;
};

// The reason why MPI cannot run the collective; "" if it can.
std::string missing(const Collective& collective, bool in_place);

// The non-blocking MPI calls that make up one rank's part of a collective.
class Requests {
 public:
  // All calls go to `comm`, which must outlive this.
  Requests(MPI_Comm comm, const Collective& collective);

  // Starts all calls. MPI must be able to access both buffers. The call is in place where `send`
  // lies in `recv` (or `recv` in `send`) as collective.h defines it. Earlier calls must have
  // completed. Throws Error.
  void start(const std::byte* send, std::byte* recv);
  // Whether all calls have completed. Non-blocking. Throws Error.
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
  std::vector<Message> sends_, receives_;  // of collectives for which MPI has no call
  std::vector<MPI_Request> requests_;
};

}  // namespace duet::mpi
