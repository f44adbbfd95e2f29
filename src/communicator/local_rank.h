#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "collectives/collective.h"
#include "collectives/memory.h"
#include "communicator/collective_call.h"
#include "core/deadline.h"
#include "device/device.h"

namespace duet {

class CollectiveSession;
struct Rank;

// One rank of a communicator, which plans collectives. Valid during Communicator::each(), on the
// thread that each() gave it to.
//
// Collective functions must be called by the ranks of all processes in the same order. If ranks are
// in different ones, all throw BadArgument naming both. They throw Timeout naming what they waited
// for, and PeerFailed if another rank threw or another process failed or died.
class LocalRank {
 public:
  LocalRank(const Rank& rank, std::shared_ptr<CollectiveSession> session, NativeStreams& streams);

  int index() const;  // among the ranks of all processes or, in a group, of the group
  int size() const;   // likewise
  int local() const;  // of these, among this process's
  // The rank's device; info().ordinal is the number that cudaSetDevice() takes.
  Device& device() const;

  // Collective: memory of the rank's device, of the kind that suits the engine best, aligned to 256
  // bytes and uninitialised. The destructor frees it; calls that use it must have ended. Throws
  // OutOfMemory.
  std::unique_ptr<CollectiveMemory> allocate(std::uint64_t bytes);

  // Collective, with equal values of `collective`: binds it to the rank's buffers, whose sizes are
  // in the table of collective.h. Blocks, may allocate, and leaves the buffers unchanged (NCCL's
  // engines overwrite `recv`). Throws BadArgument if the ranks' arguments differ, a buffer has the
  // wrong size, or send and receive buffers overlap other than in place; Unavailable if the engine
  // cannot run this or a rank cannot reach another's memory. If one rank throws, all throw; the
  // others' error names that rank, and all may plan again.
  CollectiveCall plan(const Collective& collective, const Span& send, const Span& recv);
  // As above, also of a collective with a SumNorm, whose residual and weight are the rank's own.
  CollectiveCall plan(const Collective& collective, const CollectiveBuffers& buffers);
  // As above, with the user's own memory of the rank's device (cudaMalloc), of the sizes that
  // send_bytes() and recv_bytes() return; nullptr if that size is 0.
  CollectiveCall plan(const Collective& collective, const void* send, void* recv);
  // As above, with what `find` returns. Where it throws on one rank, all throw.
  struct Request {
    Collective collective;
    CollectiveBuffers buffers;
  };
  CollectiveCall plan(const std::function<Request()>& find);

  // Collective: ends a call. The caller must have synchronised the streams on which it enqueued the
  // call. Afterwards the buffers may be freed or reused.
  void retire(CollectiveCall call);

  // Collective, with an equal `what`, which ends the sentence "waiting for ..." of errors: returns
  // when all ranks are in it.
  void barrier(const std::string& what = "the other ranks",
               double deadline_seconds = kDefaultDeadlineSeconds);
  // Collective, with an equal `what`, as barrier(): runs `step`, which may make collective calls,
  // and returns when it has succeeded on all ranks. Where it throws on one, all throw, and may go
  // on.
  void all_or_none(const std::string& what, const std::function<void()>& step);

  // Fails the calls of all ranks, as if this rank had thrown an error of this text; also outside of
  // each(), as long as the communicator lives.
  void fail(const std::string& why) const;

 private:
  Span adopt(void* data, std::uint64_t bytes) const;

  friend class RankGroups;

  std::shared_ptr<Rank> rank_;
  std::shared_ptr<CollectiveSession> session_;
  NativeStreams& streams_;
};

}  // namespace duet
