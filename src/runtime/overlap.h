// Compute and collectives of a rank beside each other, on the program's own streams. Public;
// docs/library.md is its page.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "communicator/local_rank.h"
#include "overlap/policy.h"

namespace duet {

// The engine of CommunicatorOptions that a policy is about: "dma" for dma, the vendor's library (on
// the CPU "kernel") for serial, base and priority, its copy-engine mode for zero-cta. `device` is
// that of CommunicatorOptions.
std::string engine_of(const OverlapPolicy& policy, const std::string& device);

// One of several works that run beside each other.
struct OverlapWork {
  // What its kernels take of the device at a time; of a collective by copy engines 0. Equal on all
  // ranks, or they would enqueue their collectives in different orders.
  double workgroups = 0;
  // Enqueues it on the stream that it is given, and waits for nothing.
  std::function<void(Stream&)> enqueue;
};

// Made once a rank, outside of what is timed or captured: it has the streams and events that a
// policy takes. Calls come from one thread at a time, and on a simulated machine in each(). They
// may follow each other without waiting, on any streams of the device. It is destroyed when what it
// enqueued is done, before its communicator.
//
// Works run beside each other where the policy lets them, in no order: none may touch what another
// writes. What the stream had comes before all of them, what it is given afterwards behind all of
// them; nothing is waited for on the CPU. All ranks make the same calls in the same order.
//
// A call is captured as it is: with capture() (device/graph.h) or, on the program's own stream, by
// the vendor's calls, unless the collective's engine is `mpi` or `host`.
//
// The policies (docs/overlap.md) decide what comes first and on which stream:
//   serial             on the stream itself, one after the other as given; of a pair, compute first
//   base               as given (of a pair, compute first), all streams of the lowest priority
//   priority           what needs the fewest workgroups first; of a pair, the collective
//   zero-cta, dma      as priority
// The work that needs most runs on the given stream, each other on one of Overlap's, of the highest
// priority but for base.
class Overlap {
 public:
  // For at most so many works at a time; where the policy takes it, each but one has a stream here.
  // Throws Unavailable for policies with a partition, BadArgument for less than one work.
  explicit Overlap(LocalRank& rank, const OverlapPolicy& policy = {OverlapPolicy::Kind::dma, 0},
                   int works = 2);
  Overlap(Overlap&& other) noexcept;
  Overlap& operator=(Overlap&& other) noexcept;
  ~Overlap();

  // A collective beside compute: `compute(Stream&)` enqueues on the stream that it is given, here
  // the caller's own. Nothing is allocated that the two do not allocate themselves.
  //
  // Throws BadArgument for a stream of another device, before anything is enqueued; else the first
  // error of the two. Even then both were enqueued as far as they went and the stream waits for
  // both, so that no peer waits for this rank and the next call works.
  template <class Compute>
  void enqueue(Stream& stream, CollectiveCall& call, Compute&& compute) {
    enqueue_pair(stream, call, std::ref(compute));
  }
  // On a cudaStream_t or hipStream_t of the rank's device; nullptr is its (legacy) default stream,
  // which cannot be captured. One that was not seen before is noted, which allocates. Throws
  // Unavailable where the device has no such streams.
  template <class Compute>
  void enqueue(void* native_stream, CollectiveCall& call, Compute&& compute) {
    enqueue_pair(wrapped(native_stream), call, std::ref(compute));
  }
  template <class Compute>
  void enqueue(std::nullptr_t, CollectiveCall& call, Compute&& compute) {
    enqueue_pair(wrapped(nullptr), call, std::ref(compute));
  }
  template <class Compute>
  void enqueue(Stream*, CollectiveCall&, Compute&&) = delete;  // not a native stream: *stream

  // Any works, up to the number that it was made for. Errors as above; BadArgument also for a work
  // without a function, a negative need, or too many of them.
  void enqueue(Stream& stream, const std::vector<OverlapWork>& works);

 private:
  struct Parts;

  void enqueue_pair(Stream& stream, CollectiveCall& call,
                    const std::function<void(Stream&)>& compute);
  Stream& wrapped(void* native_stream);

  std::unique_ptr<Parts> parts_;
};

}  // namespace duet
