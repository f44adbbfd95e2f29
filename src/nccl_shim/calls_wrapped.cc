// The calls that move data, as the drop-in's libraries export them.
#include <memory>
#include <optional>
#include <utility>

#include "collectives/nccl/abi.h"
#include "nccl_shim/groups.h"
#include "nccl_shim/late_creations.h"
#include "nccl_shim/real_library.h"
#include "nccl_shim/settings.h"

namespace duet::nccl_shim {
namespace {

using nccl::Comm;
using nccl::Operation;
using nccl::Result;
using nccl::Type;

// Bytes of an element; 0 for a type that is not known here.
std::size_t size_of(Type type) {
  constexpr std::size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};  // ncclDataType_t's order
  return type >= 0 && type < 12 ? kSizes[type] : 0;
}

// Elements and operations that are reduced here.
std::optional<DType> reduced_type(Type type) {
  if (type == nccl::kFloat32) return DType::fp32;
  if (type == nccl::kFloat16) return DType::fp16;
  if (type == nccl::kBfloat16) return DType::bf16;
  if (type == nccl::kInt32) return DType::int32;
  return std::nullopt;
}

// None of those that ncclRedOpCreatePreMulSum makes.
std::optional<Reduction> reduction_of(Operation operation) {
  if (operation == nccl::kSum) return Reduction::sum;
  if (operation == nccl::kAvg) return Reduction::avg;
  if (operation == nccl::kMin) return Reduction::min;
  if (operation == nccl::kMax) return Reduction::max;
  return std::nullopt;
}

// Whether all ranks take this call over: by what they have alike, and nothing else.
bool is_taken(const Communicator& communicator, const Call& call, void* stream) {
  const auto& least = settings().least[static_cast<std::size_t>(call.kind)];
  const int ranks = communicator.copies->ranks();
  if (call.bytes == 0 || call.root < 0 || call.root >= ranks) return false;
  const bool is_large = least && all_bytes(call, ranks) >= *least &&
                        (!reduces(call.kind) || communicator.copies->can_reduce());
  const bool is_small = communicator.copies->by_packets(call);
  if (!is_large && !is_small) return false;
  const std::uint64_t capture = communicator.device->capture(stream);
  return capture == kNotCaptured || (is_small && capture != kUnknownCapture);
}

// Whether both ranks of a message take it over: by its size, and by what all ranks have alike.
bool is_taken(const Communicator& communicator, const Message& message, void* stream) {
  const auto& least = settings().least_message;
  const PairCopies& copies = *communicator.copies;
  return least && copies.can_send() && message.bytes > 0 && message.bytes >= *least &&
         message.peer >= 0 && message.peer < copies.ranks() &&
         communicator.device->capture(stream) == kNotCaptured;
}

// A call of the real NCCL on a communicator of the table: in order with those that are taken over.
template <typename Forward>
Result forward_in_order(Comm comm, std::shared_ptr<Communicator> communicator, void* stream,
                        const Forward& forward) {
  if (communicator == nullptr) {
    return note_result(is_created_late(comm) ? refuse_early() : forward());
  }
  if (in_group()) {
    queue_order(std::move(communicator), stream, comm);
    return note_result(forward());
  }
  const Result ordered = result_of([&] { communicator->copies->order_other_work(stream); });
  if (ordered != nccl::kSuccess) return ordered;
  const Result result = forward();
  if (result != nccl::kSuccess) return result;
  return result_of([&] { communicator->copies->end_other_work(stream); });
}

void enqueue(PairCopies& copies, const Call& call, void* stream) { copies.enqueue(call, stream); }

void enqueue(PairCopies& copies, const Message& message, void* stream) {
  copies.enqueue_message(message, stream);
}

// `call`: a Call or a Message.
template <typename CallOrMessage, typename Forward>
Result take_or_forward(Comm comm, const CallOrMessage& call, void* stream, const Forward& forward) {
  std::shared_ptr<Communicator> communicator = find(comm);
  if (communicator != nullptr && communicator->aborted) return note_result(forward());
  if (communicator == nullptr || !is_taken(*communicator, call, stream)) {
    return forward_in_order(comm, std::move(communicator), stream, forward);
  }
  if (!in_group()) return result_of([&] { enqueue(*communicator->copies, call, stream); });
  queue_call(std::move(communicator), call, stream, forward);
  return nccl::kSuccess;
}

// A reduction of elements and by an operation that may not be known here.
template <typename Forward>
Result take_or_forward_reduction(Comm comm, Call call, Type type, Operation operation, void* stream,
                                 const Forward& forward) {
  const std::optional<DType> reduced = reduced_type(type);
  const std::optional<Reduction> reduction = reduction_of(operation);
  if (!reduced || !reduction) return forward_in_order(comm, find(comm), stream, forward);
  call.type = *reduced;
  call.reduction = *reduction;
  return take_or_forward(comm, call, stream, forward);
}

}  // namespace
}  // namespace duet::nccl_shim

using namespace duet::nccl_shim;  // the functions below have names of C
using duet::nccl::Comm;
using duet::nccl::Operation;
using duet::nccl::Result;
using duet::nccl::Type;

DUET_NCCL_WRAPPER(ncclAllGather)
(const void* send, void* receive, std::size_t count, Type type, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclAllGather);
  const Call call{Kind::all_gather, send, receive, count * size_of(type), 0};
  return take_or_forward(comm, call, stream,
                         [=] { return real(send, receive, count, type, comm, stream); });
}

DUET_NCCL_WRAPPER(ncclAlltoAll)
(const void* send, void* receive, std::size_t count, Type type, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclAlltoAll);
  const Call call{Kind::all_to_all, send, receive, count * size_of(type), 0};
  return take_or_forward(comm, call, stream,
                         [=] { return real(send, receive, count, type, comm, stream); });
}

DUET_NCCL_WRAPPER(ncclBroadcast)
(const void* send, void* receive, std::size_t count, Type type, int root, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclBroadcast);
  if (is_real(__builtin_return_address(0))) {  // ncclBcast, which is taken over or ordered itself
    return real(send, receive, count, type, root, comm, stream);
  }
  const Call call{Kind::broadcast, send, receive, count * size_of(type), root};
  return take_or_forward(comm, call, stream,
                         [=] { return real(send, receive, count, type, root, comm, stream); });
}

DUET_NCCL_WRAPPER(ncclBcast)
(void* buffer, std::size_t count, Type type, int root, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclBcast);
  const Call call{Kind::broadcast, buffer, buffer, count * size_of(type), root};
  return take_or_forward(comm, call, stream,
                         [=] { return real(buffer, count, type, root, comm, stream); });
}

DUET_NCCL_WRAPPER(ncclAllReduce)
(const void* send, void* receive, std::size_t count, Type type, Operation operation, Comm comm,
 void* stream) {
  DUET_NCCL_REAL(ncclAllReduce);
  const Call call{Kind::all_reduce, send, receive, count * size_of(type)};
  return take_or_forward_reduction(comm, call, type, operation, stream, [=] {
    return real(send, receive, count, type, operation, comm, stream);
  });
}

DUET_NCCL_WRAPPER(ncclReduceScatter)
(const void* send, void* receive, std::size_t count, Type type, Operation operation, Comm comm,
 void* stream) {
  DUET_NCCL_REAL(ncclReduceScatter);
  const Call call{Kind::reduce_scatter, send, receive, count * size_of(type)};
  return take_or_forward_reduction(comm, call, type, operation, stream, [=] {
    return real(send, receive, count, type, operation, comm, stream);
  });
}

DUET_NCCL_WRAPPER(ncclReduce)
(const void* send, void* receive, std::size_t count, Type type, Operation operation, int root,
 Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclReduce);
  return forward_in_order(comm, find(comm), stream, [=] {
    return real(send, receive, count, type, operation, root, comm, stream);
  });
}

DUET_NCCL_WRAPPER(ncclGather)
(const void* send, void* receive, std::size_t count, Type type, int root, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclGather);
  return forward_in_order(comm, find(comm), stream,
                          [=] { return real(send, receive, count, type, root, comm, stream); });
}

DUET_NCCL_WRAPPER(ncclScatter)
(const void* send, void* receive, std::size_t count, Type type, int root, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclScatter);
  return forward_in_order(comm, find(comm), stream,
                          [=] { return real(send, receive, count, type, root, comm, stream); });
}

DUET_NCCL_WRAPPER(ncclSend)
(const void* send, std::size_t count, Type type, int peer, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclSend);
  const Message message{Message::What::send, peer, const_cast<void*>(send), count * size_of(type)};
  return take_or_forward(comm, message, stream,
                         [=] { return real(send, count, type, peer, comm, stream); });
}

DUET_NCCL_WRAPPER(ncclRecv)
(void* receive, std::size_t count, Type type, int peer, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclRecv);
  const Message message{Message::What::receive, peer, receive, count * size_of(type)};
  return take_or_forward(comm, message, stream,
                         [=] { return real(receive, count, type, peer, comm, stream); });
}

// Since 2.29.
DUET_NCCL_WRAPPER(ncclPutSignal)
(const void* send, std::size_t count, Type type, int peer, void* window, std::size_t offset,
 int signal, int context, unsigned flags, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclPutSignal);
  return forward_in_order(comm, find(comm), stream, [=] {
    return real(send, count, type, peer, window, offset, signal, context, flags, comm, stream);
  });
}

DUET_NCCL_WRAPPER(ncclSignal)
(int peer, int signal, int context, unsigned flags, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclSignal);
  return forward_in_order(comm, find(comm), stream,
                          [=] { return real(peer, signal, context, flags, comm, stream); });
}

DUET_NCCL_WRAPPER(ncclWaitSignal)(int count, void* signals, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclWaitSignal);
  return forward_in_order(comm, find(comm), stream,
                          [=] { return real(count, signals, comm, stream); });
}

DUET_NCCL_WRAPPER(ncclGroupStart)() {
  DUET_NCCL_REAL(ncclGroupStart);
  const Result result = real();
  if (result == duet::nccl::kSuccess) begin_group();
  return result;
}

DUET_NCCL_WRAPPER(ncclGroupEnd)() {
  DUET_NCCL_REAL(ncclGroupEnd);
  return end_group([=] { return real(); });
}

DUET_NCCL_WRAPPER(ncclGroupSimulateEnd)(void* information) {
  DUET_NCCL_REAL(ncclGroupSimulateEnd);
  return end_group_by_forwarding([=] { return real(information); });
}
