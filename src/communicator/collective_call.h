// A collective that a rank has planned and enqueues as often as it likes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "device/stream.h"

namespace duet {

class CollectivePlan;
class NativeStreams;

// Bound to its buffers and made by LocalRank::plan(). Move-only. Ends by LocalRank::retire(), or in
// its destructor when the work that this rank enqueued is done: memory of its own, which peers may
// still use, is then freed by a later plan() or retire(), or with the communicator. It must not
// outlive that or its buffers.
class CollectiveCall {
 public:
  // Holds nothing; only to be assigned to.
  CollectiveCall();
  CollectiveCall(std::unique_ptr<CollectivePlan> plan, NativeStreams& streams);
  CollectiveCall(CollectiveCall&& other) noexcept;
  CollectiveCall& operator=(CollectiveCall&& other) noexcept;
  ~CollectiveCall();

  // Enqueues the collective behind all that the stream has and returns: nothing is waited for, and
  // of a stream seen before nothing is allocated. What is enqueued on the stream from here on sees
  // the result, and may reuse the send buffer. The rank's device stays the calling thread's current
  // one. All ranks enqueue the same calls in the same order; the calls of a rank come from one
  // thread at a time, in LocalRank's each() or (except on a simulated machine) outside of it.
  //
  // Throws BadArgument for a stream of another device and where the call holds nothing, PeerFailed
  // once another rank failed or a process is gone.
  void enqueue(Stream& stream);
  // On a cudaStream_t or hipStream_t of the rank's device; nullptr is its (legacy) default stream.
  // Throws Unavailable where the device has no such streams.
  void enqueue(void* native_stream);
  void enqueue(std::nullptr_t) { enqueue(static_cast<void*>(nullptr)); }
  void enqueue(Stream*) = delete;  // not a native stream: enqueue(*stream)

  // What the engine chose, in words, for logs.
  std::string algorithm() const;

 private:
  CollectivePlan& plan() const;

  std::unique_ptr<CollectivePlan> plan_;
  NativeStreams* streams_ = nullptr;
};

}  // namespace duet
