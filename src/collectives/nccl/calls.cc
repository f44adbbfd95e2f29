#include "collectives/nccl/calls.h"

#include <fmt/format.h>

#include "core/error.h"

namespace duet::nccl {
namespace {

Type type_of(DType dtype) {
  switch (dtype) {
    case DType::fp32:
      return kFloat32;
    case DType::fp16:
      return kFloat16;
    case DType::bf16:
      return kBfloat16;
    case DType::int32:
      return kInt32;
    default:
      return kUint8;
  }
}

Operation operation_of(Reduction op) {
  switch (op) {
    case Reduction::max:
      return kMax;
    case Reduction::min:
      return kMin;
    case Reduction::avg:
      return kAvg;
    case Reduction::sum:
      break;
  }
  return kSum;
}

bool has_call(const Library& library, CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_to_all:
      return library.all_to_all != nullptr;
    case CollectiveKind::gather:
      return library.gather != nullptr;
    case CollectiveKind::scatter:
      return library.scatter != nullptr;
    case CollectiveKind::all_to_all_v:
    case CollectiveKind::send_recv:
    case CollectiveKind::neighbor_exchange:
      return false;
    default:
      return true;
  }
}

// A group of NCCL calls. The destructor ends the group even if a call in it throws. NCCL counts
// open groups per thread, and a group left open would hold back the thread's later calls.
class Group {
 public:
  explicit Group(const Library& library) : library_(library) {
    DUET_NCCL_CHECK(library_, group_start());
  }
  ~Group() {
    if (open_) forget(library_.group_end());
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  void end() {
    open_ = false;
    DUET_NCCL_CHECK(library_, group_end());
  }

 private:
  const Library& library_;
  bool open_ = true;
};

}  // namespace

bool has_type(DType dtype) {
  return dtype == DType::fp32 || dtype == DType::fp16 || dtype == DType::bf16 ||
         dtype == DType::int32 || dtype == DType::int8;
}

Calls::Calls(const Library& library, const CommRank& comm_rank, const Collective& collective)
    : library_(library),
      comm_rank_(comm_rank),
      kind_(collective.kind),
      count_(collective.count),
      root_(collective.root),
      element_(size_of(collective.dtype)),
      type_(type_of(collective.dtype)),
      operation_(operation_of(collective.op)),
      grouped_(!has_call(library, collective.kind)) {
  if (!grouped_) return;
  for (const Move& move : moves(collective, comm_rank.size)) {
    if (move.from == comm_rank.rank) sends_.push_back(move);
    if (move.to == comm_rank.rank) receives_.push_back(move);
  }
}

void Calls::enqueue(const void* send, void* recv, NativeStream stream) const {
  if (grouped_) {
    enqueue_moves(send, recv, stream);
  } else {
    enqueue_one_call(send, recv, stream);
  }
}

void Calls::enqueue_one_call(const void* send, void* recv, NativeStream stream) const {
  const Comm comm = comm_rank_.comm;
  switch (kind_) {
    case CollectiveKind::all_gather:
      DUET_NCCL_CHECK(library_, all_gather(send, recv, count_, type_, comm, stream));
      return;
    case CollectiveKind::reduce_scatter:
      DUET_NCCL_CHECK(library_,
                      reduce_scatter(send, recv, count_, type_, operation_, comm, stream));
      return;
    case CollectiveKind::all_reduce:
      DUET_NCCL_CHECK(library_, all_reduce(send, recv, count_, type_, operation_, comm, stream));
      return;
    case CollectiveKind::broadcast:
      DUET_NCCL_CHECK(library_, broadcast(send, recv, count_, type_, root_, comm, stream));
      return;
    case CollectiveKind::all_to_all:
      DUET_NCCL_CHECK(library_, all_to_all(send, recv, count_, type_, comm, stream));
      return;
    case CollectiveKind::gather:
      DUET_NCCL_CHECK(library_, gather(send, recv, count_, type_, root_, comm, stream));
      return;
    case CollectiveKind::scatter:
      DUET_NCCL_CHECK(library_, scatter(send, recv, count_, type_, root_, comm, stream));
      return;
    case CollectiveKind::all_to_all_v:
    case CollectiveKind::send_recv:
    case CollectiveKind::neighbor_exchange:
      break;
  }
  throw BadArgument(fmt::format("{} is not one call", name(kind_)));
}

void Calls::enqueue_moves(const void* send, void* recv, NativeStream stream) const {
  const auto* from = static_cast<const std::byte*>(send);
  auto* to = static_cast<std::byte*>(recv);
  // In place, the rank's own part needs no move.
  const auto in_place = [&](const Move& move) {
    return move.from == move.to && from + move.from_offset == to + move.to_offset;
  };
  Group group(library_);
  for (const Move& move : sends_) {
    if (in_place(move)) continue;
    DUET_NCCL_CHECK(library_, send(from + move.from_offset, move.bytes / element_, type_, move.to,
                                   comm_rank_.comm, stream));
  }
  for (const Move& move : receives_) {
    if (in_place(move)) continue;
    DUET_NCCL_CHECK(library_, recv(to + move.to_offset, move.bytes / element_, type_, move.from,
                                   comm_rank_.comm, stream));
  }
  group.end();
}

}  // namespace duet::nccl
