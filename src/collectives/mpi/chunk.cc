#include "collectives/mpi/chunk.h"

#include <limits>
#include <utility>

#include "collectives/mpi/check.h"

namespace duet::mpi {
namespace {

constexpr std::uint64_t kBlock = 1ull << 30;
constexpr std::uint64_t kMost = std::numeric_limits<int>::max();

// Whole blocks of 1 GiB followed by the remaining bytes.
MPI_Datatype large_type(std::uint64_t bytes) {
  MPI_Datatype block = MPI_DATATYPE_NULL, whole = MPI_DATATYPE_NULL;
  DUET_MPI_CHECK(MPI_Type_contiguous(static_cast<int>(kBlock), MPI_BYTE, &block));
  int lengths[] = {static_cast<int>(bytes / kBlock), static_cast<int>(bytes % kBlock)};
  MPI_Aint places[] = {0, static_cast<MPI_Aint>(bytes / kBlock * kBlock)};
  MPI_Datatype types[] = {block, MPI_BYTE};
  DUET_MPI_CHECK(MPI_Type_create_struct(2, lengths, places, types, &whole));
  DUET_MPI_CHECK(MPI_Type_commit(&whole));
  DUET_MPI_CHECK(MPI_Type_free(&block));
  return whole;
}

}  // namespace

Chunk::Chunk(std::uint64_t bytes) {
  if (bytes <= kMost) {
    count_ = static_cast<int>(bytes);
  } else {
    count_ = 1;
    type_ = large_type(bytes);
  }
}

Chunk::Chunk(Chunk&& other) noexcept
    : count_(other.count_), type_(std::exchange(other.type_, MPI_BYTE)) {}

Chunk::~Chunk() {
  int finalized = 0;
  if (type_ == MPI_BYTE || MPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0) return;
  static_cast<void>(MPI_Type_free(&type_));
}

}  // namespace duet::mpi
