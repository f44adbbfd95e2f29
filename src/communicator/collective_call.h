#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "collectives/call_rows.h"
#include "collectives/memory.h"
#include "device/stream.h"

namespace duet {

class CollectivePlan;
class CollectiveSession;
class NativeStreams;

// A collective that LocalRank::plan() has bound to a rank's buffers, to be enqueued any number of
// times. Move-only; must not outlive its buffers or the communicator.
//
// It ends by LocalRank::retire(), or in its destructor; before that, the work that this rank
// enqueued must be done. After the destructor, internal memory that peers may still use is freed by
// a later plan() or retire(), or with the communicator.
class CollectiveCall {
 public:
  // Empty; only to be assigned to.
  CollectiveCall();
  // The plan is one of the session's.
  CollectiveCall(std::shared_ptr<CollectiveSession> session, std::unique_ptr<CollectivePlan> plan,
                 NativeStreams& streams);
  CollectiveCall(CollectiveCall&& other) noexcept;
  CollectiveCall& operator=(CollectiveCall&& other) noexcept;
  ~CollectiveCall();

  // Enqueues the collective on the stream, without waiting; allocates only the first time it sees a
  // stream. Work enqueued on the stream afterwards sees the result and may reuse the send buffer.
  // Afterwards the calling thread's current device is the rank's. All ranks must enqueue the same
  // calls in the same order. A rank's calls are made by one thread at a time, inside of each() or,
  // except on a simulated machine, outside of it.
  //
  // Throws BadArgument for a stream of another device and for an empty call, PeerFailed once
  // another rank has failed or a process has died. Any other error fails the calls of all ranks.
  void enqueue(Stream& stream);
  // On a cudaStream_t or hipStream_t of the rank's device; nullptr is its (legacy) default stream.
  // Throws BadArgument if the stream was made on another device, which is checked where its handle
  // is seen first, and Unavailable if the device has no such streams.
  void enqueue(void* native_stream);
  void enqueue(std::nullptr_t) { enqueue(static_cast<void*>(nullptr)); }
  void enqueue(Stream*) = delete;  // not a native stream: enqueue(*stream)

  // Whether enqueue_at() may be called: small calls that go by packets, on GPUs, and some of a
  // communicator of one rank. The same on all ranks, and for equal collectives of one communicator.
  bool takes_buffers() const;
  // As enqueue(), in this call with the rank's own data in other buffers, of the same sizes as
  // those of plan(), on the rank's device, that overlap as those may or not at all. Nothing is
  // exchanged about them, so that they may be others in each call and on each rank. Throws
  // BadArgument, with nothing enqueued, where takes_buffers() is false, a buffer is missing, or one
  // of a collective with a SumNorm is not aligned to 8 bytes.
  void enqueue_at(Stream& stream, const BufferAddresses& buffers);
  void enqueue_at(void* native_stream, const BufferAddresses& buffers);

  // Likewise of a collective with MatrixRows (collectives/collective.h), whose rows `multiply`
  // multiplies: it is called during this function, once or for several ranges of rows in any order,
  // and only enqueues, on the stream that it is given. What it throws fails the calls of all ranks.
  // enqueue() of such a call communicates alone. Throws BadArgument where the collective has no
  // rows.
  void enqueue_rows(Stream& stream, const MultiplyRows& multiply);
  void enqueue_rows(void* native_stream, const MultiplyRows& multiply);
  void enqueue_rows(std::nullptr_t, const MultiplyRows& multiply) {
    enqueue_rows(static_cast<void*>(nullptr), multiply);
  }
  void enqueue_rows(Stream*, const MultiplyRows&) = delete;  // not a native stream: *stream

  // The algorithm that the engine chose, for logs.
  std::string algorithm() const;

 private:
  CollectivePlan& plan() const;
  CollectivePlan& plan_for(Stream& stream) const;  // of the rank's device

  std::shared_ptr<CollectiveSession> session_;  // outlives the plan
  std::unique_ptr<CollectivePlan> plan_;
  NativeStreams* streams_ = nullptr;
};

}  // namespace duet
