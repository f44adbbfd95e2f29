// What becomes of a call that moves data: taken over, or the real NCCL's in order with those that
// are.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "collectives/nccl/abi.h"
#include "nccl_shim/call_counts.h"
#include "nccl_shim/groups.h"
#include "nccl_shim/late_creations.h"
#include "nccl_shim/ranges.h"

namespace duet::nccl_shim {

// Bytes of an element; 0 for a type that is not known here.
std::size_t size_of(nccl::Type type);

// Elements and operations that are reduced here; none of those that ncclRedOpCreatePreMulSum makes.
std::optional<DType> reduced_type(nccl::Type type);
std::optional<Reduction> reduction_of(nccl::Operation operation);

// By what means all ranks make this call: by what they have alike, and nothing else.
Means means_of(const Communicator& communicator, const Call& call, void* stream);
// By what means both ranks of a message make it: by its size, and by what all ranks have alike.
Means means_of(const Communicator& communicator, const Message& message, void* stream);

// Where calls are counted. `communicator`: as find() gives it.
void count(nccl::Comm comm, Communicator* communicator, const Counted& call, Means means);

inline void enqueue(PairCopies& copies, const Call& call, void* stream) {
  copies.enqueue(call, stream);
}
inline void enqueue(PairCopies& copies, const Message& message, void* stream) {
  copies.enqueue_message(message, stream);
}

// A call of the real NCCL on `communicator`, which may be null: in order with those that are taken
// over.
template <typename Forward>
nccl::Result forward_in_order(nccl::Comm comm, std::shared_ptr<Communicator> communicator,
                              const Counted& call, void* stream, const Forward& forward) {
  if (counts_calls()) count(comm, communicator.get(), call, Means::nccl);
  if (communicator == nullptr) {
    return note_result(is_created_late(comm) ? refuse_early() : forward());
  }
  if (in_group()) {
    queue_order(std::move(communicator), stream, comm);
    return note_result(forward());
  }
  const nccl::Result ordered = result_of([&] { communicator->copies->order_other_work(stream); });
  if (ordered != nccl::kSuccess) return ordered;
  const nccl::Result result = forward();
  if (result != nccl::kSuccess) return result;
  return result_of([&] { communicator->copies->end_other_work(stream); });
}

// `call`: a Call or a Message. `forward` may be kept until the end of the group.
template <typename CallOrMessage, typename Forward>
nccl::Result take_or_forward(nccl::Comm comm, const CallOrMessage& call, void* stream,
                             const Forward& forward) {
  std::shared_ptr<Communicator> communicator = find(comm);
  if (communicator != nullptr && communicator->aborted) return note_result(forward());
  const Means means = communicator == nullptr ? Means::nccl : means_of(*communicator, call, stream);
  if (means == Means::nccl) {
    return forward_in_order(comm, std::move(communicator), counted(call), stream, forward);
  }
  const CallRange range(counted(call), means, communicator->copies->ranks());
  if (counts_calls()) count(comm, communicator.get(), counted(call), means);
  if (!in_group()) return result_of([&] { enqueue(*communicator->copies, call, stream); });
  queue_call(std::move(communicator), call, stream, forward);
  return nccl::kSuccess;
}

// A message, which may be one of a group that is an all_to_all.
template <typename Forward>
nccl::Result take_or_forward_message(nccl::Comm comm, const Message& message, void* stream,
                                     const Forward& forward) {
  if (in_group() && is_held(find(comm).get(), message)) {
    hold_message({comm, message, stream, forward});
    return nccl::kSuccess;
  }
  return take_or_forward(comm, message, stream, forward);
}

// A reduction of elements and by an operation that may not be known here.
template <typename Forward>
nccl::Result take_or_forward_reduction(nccl::Comm comm, Call call, nccl::Type type,
                                       nccl::Operation operation, void* stream,
                                       const Forward& forward) {
  const std::optional<DType> reduced = reduced_type(type);
  const std::optional<Reduction> reduction = reduction_of(operation);
  if (!reduced || !reduction) {
    return forward_in_order(comm, find(comm), counted(call), stream, forward);
  }
  call.type = *reduced;
  call.reduction = *reduction;
  return take_or_forward(comm, call, stream, forward);
}

}  // namespace duet::nccl_shim
