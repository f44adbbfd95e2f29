// The calls that move data, as the drop-in's libraries export them.
#include "collectives/nccl/abi.h"
#include "nccl_shim/groups.h"
#include "nccl_shim/real_library.h"
#include "nccl_shim/take_over.h"

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
  const Counted call{CountedKind::reduce, count * size_of(type)};
  return forward_in_order(comm, find(comm), call, stream, [=] {
    return real(send, receive, count, type, operation, root, comm, stream);
  });
}

DUET_NCCL_WRAPPER(ncclGather)
(const void* send, void* receive, std::size_t count, Type type, int root, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclGather);
  const Counted call{CountedKind::gather, count * size_of(type), true};
  return forward_in_order(comm, find(comm), call, stream,
                          [=] { return real(send, receive, count, type, root, comm, stream); });
}

DUET_NCCL_WRAPPER(ncclScatter)
(const void* send, void* receive, std::size_t count, Type type, int root, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclScatter);
  const Counted call{CountedKind::scatter, count * size_of(type), true};
  return forward_in_order(comm, find(comm), call, stream,
                          [=] { return real(send, receive, count, type, root, comm, stream); });
}

DUET_NCCL_WRAPPER(ncclSend)
(const void* send, std::size_t count, Type type, int peer, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclSend);
  const Message message{Message::What::send, peer, const_cast<void*>(send), count * size_of(type)};
  return take_or_forward_message(comm, message, stream,
                                 [=] { return real(send, count, type, peer, comm, stream); });
}

DUET_NCCL_WRAPPER(ncclRecv)
(void* receive, std::size_t count, Type type, int peer, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclRecv);
  const Message message{Message::What::receive, peer, receive, count * size_of(type)};
  return take_or_forward_message(comm, message, stream,
                                 [=] { return real(receive, count, type, peer, comm, stream); });
}

// Since 2.29.
DUET_NCCL_WRAPPER(ncclPutSignal)
(const void* send, std::size_t count, Type type, int peer, void* window, std::size_t offset,
 int signal, int context, unsigned flags, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclPutSignal);
  const Counted call{CountedKind::put_signal, count * size_of(type)};
  return forward_in_order(comm, find(comm), call, stream, [=] {
    return real(send, count, type, peer, window, offset, signal, context, flags, comm, stream);
  });
}

DUET_NCCL_WRAPPER(ncclSignal)
(int peer, int signal, int context, unsigned flags, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclSignal);
  const Counted call{CountedKind::signal, 0};
  return forward_in_order(comm, find(comm), call, stream,
                          [=] { return real(peer, signal, context, flags, comm, stream); });
}

DUET_NCCL_WRAPPER(ncclWaitSignal)(int count, void* signals, Comm comm, void* stream) {
  DUET_NCCL_REAL(ncclWaitSignal);
  const Counted call{CountedKind::wait_signal, 0};
  return forward_in_order(comm, find(comm), call, stream,
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
