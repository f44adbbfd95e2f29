// Bytes as MPI counts them: an int of elements reaches 2 GiB only, a type of its own any size.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace duet::mpi {

// `count()` elements of `type()` are the given number of bytes without gaps. Move-only.
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
