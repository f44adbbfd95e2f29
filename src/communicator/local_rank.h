// One rank of a communicator, as Communicator::each() gives it: it plans calls and meets the
// others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "collectives/collective.h"
#include "collectives/memory.h"
#include "communicator/collective_call.h"
#include "device/device.h"

namespace duet {

class CollectiveSession;
struct Rank;

// Used by the thread that each() gave it to, until each() ends. What says "all ranks" is made by
// the ranks of all processes, in the same order: where some have come to another call, all throw
// BadArgument naming both. It throws Timeout naming what it waited for, and PeerFailed where
// another rank gave up or another process failed or is gone.
class LocalRank {
 public:
  LocalRank(Rank& rank, CollectiveSession& session, NativeStreams& streams);

  int index() const;  // among the ranks of all processes
  int size() const;   // of all processes
  int local() const;  // among this process's ranks
  // The rank's device; info().ordinal is the number that cudaSetDevice() takes.
  Device& device() const;

  // All ranks: memory of the rank's device, of the kind that the engine likes best, aligned to 256
  // bytes and uninitialised; freed with the object, once its calls have ended. Throws OutOfMemory.
  std::unique_ptr<CollectiveMemory> allocate(std::uint64_t bytes);

  // All ranks, with equal values of `collective`: binds it to the rank's buffers (collective.h has
  // the table). Blocks, may allocate, and leaves the buffers as they are (NCCL's engines overwrite
  // `recv`). Throws BadArgument where the ranks ask for different things, a buffer does not fit, or
  // send and receive overlap otherwise than in place; Unavailable where the engine cannot run this
  // or a rank cannot reach another's memory. An error of one rank is one of all: on the others it
  // names that rank, and all may plan again.
  CollectiveCall plan(const Collective& collective, const Span& send, const Span& recv);
  // On the user's own memory of the rank's device (cudaMalloc), of the sizes that send_bytes() and
  // recv_bytes() say; nullptr where the rank has no such buffer.
  CollectiveCall plan(const Collective& collective, const void* send, void* recv);

  // All ranks: ends a call once all have come here, each with its enqueued work done (the caller
  // has synchronised its streams). From then on the buffers may be freed or used for anything.
  void retire(CollectiveCall call);

  // All ranks, with an equal `what`, which ends the sentence "waiting for ...": returns when all
  // have come. Throws BadArgument on all ranks where some have come to another call.
  void barrier(const std::string& what = "the other ranks", double deadline_seconds = 60);

 private:
  Span adopt(void* data, std::uint64_t bytes) const;

  Rank& rank_;
  CollectiveSession& session_;
  NativeStreams& streams_;
};

}  // namespace duet
