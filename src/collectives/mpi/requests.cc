#include "collectives/mpi/requests.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "collectives/mpi/check.h"
#include "core/error.h"

namespace duet::mpi {
namespace {

constexpr int kTag = 1;

bool by_messages(CollectiveKind kind) {
  return kind == CollectiveKind::all_to_all_v || kind == CollectiveKind::send_recv ||
         kind == CollectiveKind::neighbor_exchange;
}

MPI_Datatype element(DType dtype) { return dtype == DType::int32 ? MPI_INT32_T : MPI_FLOAT; }

MPI_Op operation(Reduction op) {
  if (op == Reduction::max) return MPI_MAX;
  return op == Reduction::min ? MPI_MIN : MPI_SUM;
}

std::uint64_t chunk_bytes(const Collective& collective) {
  return collective.count * size_of(collective.dtype);
}

}  // namespace

std::string missing(const Collective& collective, bool in_place) {
  const CollectiveKind kind = collective.kind;
  if (in_place && !has_in_place(kind)) {
    return fmt::format("{} cannot run in place", name(kind));
  }
  if (!reduces(kind)) return "";
  if (collective.dtype != DType::fp32 && collective.dtype != DType::int32) {
    return fmt::format("MPI reduces fp32 and int32, it has no type {}", name(collective.dtype));
  }
  if (collective.op == Reduction::avg) return "MPI reduces by sum, max and min, not by avg";
  if (collective.count > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    return "MPI counts at most 2^31 - 1 elements in a reduction";
  }
  // MPI_IN_PLACE would leave the result at the start of the buffer.
  if (in_place && kind == CollectiveKind::reduce_scatter) {
    return "MPI's reduce_scatter in place leaves every rank's chunk at the buffer's start";
  }
  return "";
}

Requests::Requests(MPI_Comm comm, const Collective& collective)
    : comm_(comm),
      collective_(collective),
      chunk_(reduces(collective.kind) ? 0 : chunk_bytes(collective)) {
  int size = 1;
  DUET_MPI_CHECK(MPI_Comm_rank(comm_, &rank_));
  DUET_MPI_CHECK(MPI_Comm_size(comm_, &size));
  if (by_messages(collective.kind)) {
    for (const Move& move : moves(collective, size)) {
      if (move.from == rank_) sends_.push_back({move, Chunk(move.bytes)});
      if (move.to == rank_) receives_.push_back({move, Chunk(move.bytes)});
    }
  }
  requests_.reserve(sends_.size() + receives_.size() + 1);
}

void Requests::start(const std::byte* send, std::byte* recv) {
  requests_.clear();
  if (by_messages(collective_.kind)) return start_moves(send, recv);
  requests_.push_back(MPI_REQUEST_NULL);
  if (reduces(collective_.kind)) {
    start_reduction(send, recv, &requests_.back());
  } else {
    start_collective(send, recv, &requests_.back());
  }
}

void Requests::start_moves(const std::byte* send, std::byte* recv) {
  for (const Message& each : receives_) {
    requests_.push_back(MPI_REQUEST_NULL);
    DUET_MPI_CHECK(MPI_Irecv(recv + each.move.to_offset, each.chunk.count(), each.chunk.type(),
                             each.move.from, kTag, comm_, &requests_.back()));
  }
  for (const Message& each : sends_) {
    requests_.push_back(MPI_REQUEST_NULL);
    DUET_MPI_CHECK(MPI_Isend(send + each.move.from_offset, each.chunk.count(), each.chunk.type(),
                             each.move.to, kTag, comm_, &requests_.back()));
  }
}

void Requests::start_reduction(const std::byte* send, std::byte* recv, MPI_Request* request) {
  const int count = static_cast<int>(collective_.count);
  const MPI_Datatype type = element(collective_.dtype);
  const MPI_Op op = operation(collective_.op);
  const void* from = send == recv ? MPI_IN_PLACE : send;
  if (collective_.kind == CollectiveKind::all_reduce) {
    DUET_MPI_CHECK(MPI_Iallreduce(from, recv, count, type, op, comm_, request));
  } else {
    DUET_MPI_CHECK(MPI_Ireduce_scatter_block(send, recv, count, type, op, comm_, request));
  }
}

void Requests::start_collective(const std::byte* send, std::byte* recv, MPI_Request* request) {
  const int count = chunk_.count(), root = collective_.root;
  const MPI_Datatype type = chunk_.type();
  const std::uint64_t own = in_place_offset(collective_, rank_);
  const void* from = recv != nullptr && send == recv + own ? MPI_IN_PLACE : send;
  switch (collective_.kind) {
    case CollectiveKind::all_gather:
      DUET_MPI_CHECK(MPI_Iallgather(from, count, type, recv, count, type, comm_, request));
      return;
    case CollectiveKind::all_to_all:
      DUET_MPI_CHECK(MPI_Ialltoall(from, count, type, recv, count, type, comm_, request));
      return;
    case CollectiveKind::broadcast: {  // MPI takes one buffer: at the root the send buffer
      void* buffer = rank_ == root ? const_cast<std::byte*>(send) : recv;
      DUET_MPI_CHECK(MPI_Ibcast(buffer, count, type, root, comm_, request));
      return;
    }
    case CollectiveKind::gather: {
      const void* mine = rank_ == root ? from : send;
      DUET_MPI_CHECK(MPI_Igather(mine, count, type, recv, count, type, root, comm_, request));
      return;
    }
    case CollectiveKind::scatter: {
      void* to = rank_ == root && recv == send + own ? MPI_IN_PLACE : recv;
      DUET_MPI_CHECK(MPI_Iscatter(send, count, type, to, count, type, root, comm_, request));
      return;
    }
    default:
      throw BadArgument(fmt::format("{} is not one call", name(collective_.kind)));
  }
}

bool Requests::test() {
  int done = 0;
  DUET_MPI_CHECK(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                             MPI_STATUSES_IGNORE));
  return done != 0;
}

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
