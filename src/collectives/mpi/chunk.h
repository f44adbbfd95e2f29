#pragma once

#include <mpi.h>

#include <cstdint>

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

}  // namespace duet::mpi
