// Which stream waits for which: calls of a communicator, launches of graphs and other work of the
// same communicator are in one order, whatever streams they are on. It is kept by events:
//
//   a graph:  wait last call | kernel ... kernel   |        a call:  wait last call
//                                          \-> record last call          ...
//                                                                   record last call
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "nccl_shim/protocol/device.h"

namespace duet::nccl_shim {

// Not thread-safe, but fork().
class StreamOrder {
 public:
  using Stream = ShimDevice::Stream;

  // What came last of all that is not captured, or of one capture. `call`: behind the last call
  // that was enqueued.
  struct Tail {
    enum class Last { none, call, other, recorded };
    std::unique_ptr<StreamEvent> call, other;  // `other`: behind other work, when `recorded`
    std::uint64_t capture = kNotCaptured;
    Last last = Last::none;
    Stream stream = nullptr;
    std::uint64_t stream_id = 0;
    std::unique_ptr<LaunchRecord> record;  // of a capture with calls: records last().call
  };

  // `captures`: whether calls may be captured.
  StreamOrder(ShimDevice& device, bool captures);

  Tail& last() { return last_; }  // of what is not captured
  Tail& tail_of(Stream user);     // by the capture that it is in
  // Before a call, and behind it.
  void follow(Tail& tail, Stream user);
  void become_last(Tail& tail, Stream user);
  // Behind as much of a call as was enqueued before an error.
  void record_part(Stream user) noexcept;
  bool runs() const;  // whether a call does that is not captured

  // As PairCopies'.
  void order_other_work(Stream user);
  void end_other_work(Stream user);
  void fork(const std::vector<Stream>& streams);
  void join(const std::vector<Stream>& streams);

 private:
  Tail& tail_of_capture(std::uint64_t capture);
  Tail* tail_of_other_work(Stream user);  // null where that is in no order with calls
  bool is_on(const Tail& tail, Stream user) const;
  void follow_calls(const Tail& tail, Stream user);
  void record_other_work(Tail& tail);
  void set_last(Tail& tail, Tail::Last last, Stream user);

  ShimDevice& device_;
  const bool captures_;
  Tail last_;
  std::deque<Tail> captured_;  // of the captures of late
  bool has_graphs_ = false;    // so that calls are made of which follow() does not know
};

}  // namespace duet::nccl_shim
