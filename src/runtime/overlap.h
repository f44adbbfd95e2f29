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

// The value of CommunicatorOptions::engine for a policy: "dma" for dma, the vendor's library (on
// the CPU "kernel") for serial, base and priority, the library's copy-engine mode for zero-cta.
// `device` is CommunicatorOptions::device; UsageError for one of no kind.
std::string engine_of(const OverlapPolicy& policy, const std::string& device);

// One of several works that run beside each other.
struct OverlapWork {
  // Workgroups that its kernels occupy at a time; 0 for a collective by copy engines. Must be equal
  // on all ranks, because it determines the order in which they enqueue their collectives.
  double workgroups = 0;
  // Enqueues the work on the given stream, without waiting.
  std::function<void(Stream&)> enqueue;
};

// Runs works of one rank at the same time, with the streams and events that a policy needs. Make
// one per rank, outside of timed or captured regions. Calls come from one thread at a time, on a
// simulated machine inside of each(). They may follow each other without waiting, on any streams of
// the device. Destroy it when the work that it enqueued is done, before its communicator.
//
// The works of a call run in no defined order: none may access what another writes. Earlier work of
// the stream precedes all of them, and later work follows all of them. The CPU does not wait. All
// ranks must make the same calls in the same order.
//
// A call can be captured, with capture() (device/graph.h) or, on the program's own stream, by the
// vendor's functions, with the engines that docs/library.md names.
//
// The policies (docs/overlap.md) decide the order of enqueueing and the streams:
//   serial             on the stream itself, one after the other as given; of a pair, compute first
//   base               as given (of a pair, compute first), all streams of the lowest priority
//   priority           fewest workgroups first; of a pair, the collective
//   zero-cta, dma      as priority
// The work with the most workgroups runs on the given stream, each other one on a stream of
// Overlap, of the highest priority unless the policy is base.
class Overlap {
 public:
  // `works`: the maximum number of works of a call; for each except one a stream is made, unless
  // the policy is serial. Throws Unavailable for policies with a partition, BadArgument for less
  // than one work.
  explicit Overlap(LocalRank& rank, const OverlapPolicy& policy = {OverlapPolicyKind::dma, 0},
                   int works = 2);
  Overlap(Device& device, const OverlapPolicy& policy, int works);
  Overlap(Overlap&& other) noexcept;
  Overlap& operator=(Overlap&& other) noexcept;
  ~Overlap();

  // A collective beside compute: `compute(Stream&)` enqueues on the stream that it is given, here
  // the caller's own. The call itself allocates nothing.
  //
  // Throws BadArgument for a stream of another device, before anything is enqueued; otherwise the
  // first error of the two. After such an error both were enqueued as far as possible and the
  // stream waits for both, so that no peer waits for this rank and the next call works.
  template <class Compute>
  void enqueue(Stream& stream, CollectiveCall& call, Compute&& compute) {
    enqueue_pair(stream, call, std::ref(compute));
  }
  // On a cudaStream_t or hipStream_t of the rank's device; nullptr is its (legacy) default stream,
  // which cannot be captured. The first call with a handle allocates. Throws Unavailable if the
  // device has no such streams.
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

  // The same in two halves, between which the caller enqueues the compute on `stream` itself.
  // begin() enqueues the collective where the policy has it first, else end() does; behind end()
  // the stream waits for it. One begin() after the other: BadArgument before the last one's end(),
  // and for end() without one. Where begin() throws there is nothing to end, and the stream waits
  // for what was enqueued. The stream and the call live until end().
  void begin(Stream& stream, CollectiveCall& call);
  void begin(void* native_stream, CollectiveCall& call) { begin(wrapped(native_stream), call); }
  void begin(std::nullptr_t, CollectiveCall& call) { begin(wrapped(nullptr), call); }
  void begin(Stream*, CollectiveCall&) = delete;  // not a native stream: *stream
  void end();

  // Any works, up to the constructor's `works`. Errors as above; BadArgument also for a work
  // without a function, for negative workgroups, and for too many works.
  void enqueue(Stream& stream, const std::vector<OverlapWork>& works);
  void enqueue(void* native_stream, const std::vector<OverlapWork>& works) {
    enqueue(wrapped(native_stream), works);
  }
  void enqueue(std::nullptr_t, const std::vector<OverlapWork>& works) {
    enqueue(wrapped(nullptr), works);
  }
  void enqueue(Stream*, const std::vector<OverlapWork>&) = delete;  // *stream

 private:
  struct Impl;

  void enqueue_pair(Stream& stream, CollectiveCall& call,
                    const std::function<void(Stream&)>& compute);
  Stream& wrapped(void* native_stream);

  Impl& impl() const;  // throws BadArgument where it was moved away

  std::unique_ptr<Impl> impl_;
};

}  // namespace duet
