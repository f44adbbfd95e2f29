#include "nccl_shim/protocol/stream_order.h"

#include <algorithm>

namespace duet::nccl_shim {
namespace {

constexpr std::size_t kCapturesAtATime = 8;

}  // namespace

StreamOrder::StreamOrder(ShimDevice& device, bool captures) : device_(device), captures_(captures) {
  last_.call = device.create_event();
}

StreamOrder::Tail& StreamOrder::tail_of(Stream user) {
  return tail_of_capture(device_.capture(user));
}

StreamOrder::Tail& StreamOrder::tail_of_capture(std::uint64_t capture) {
  if (capture == kNotCaptured) return last_;
  const auto found = std::find_if(captured_.begin(), captured_.end(),
                                  [=](const Tail& each) { return each.capture == capture; });
  if (found != captured_.end()) return *found;
  if (captured_.size() == kCapturesAtATime) captured_.pop_front();
  Tail& made = captured_.emplace_back();
  made.call = device_.create_event();
  made.capture = capture;
  return made;
}

// A handle may be another stream's in another thread, or after the end of the first one.
bool StreamOrder::is_on(const Tail& tail, Stream user) const {
  return tail.stream == user && tail.stream_id != 0 && tail.stream_id == device_.stream_id(user);
}

void StreamOrder::set_last(Tail& tail, Tail::Last last, Stream user) {
  tail.last = last;
  tail.stream = user;
  tail.stream_id = tail.capture == kNotCaptured ? device_.stream_id(user) : 0;
}

void StreamOrder::follow_calls(const Tail& tail, Stream user) {
  const bool behind_graphs = has_graphs_ && tail.capture == kNotCaptured;
  if (behind_graphs || (tail.last == Tail::Last::call && !is_on(tail, user))) {
    device_.wait(user, *tail.call);
  }
}

void StreamOrder::follow(Tail& tail, Stream user) {
  const bool begins_graph = tail.capture != kNotCaptured && tail.record == nullptr;
  if (begins_graph) device_.wait_at_launch(user, *last_.call);
  if (tail.last == Tail::Last::other && !is_on(tail, user)) record_other_work(tail);
  follow_calls(tail, user);
  if (tail.last == Tail::Last::recorded) device_.wait(user, *tail.other);
}

// Where a capture has begun or ended since on its stream, an event recorded now would be another
// graph's: what comes next is behind the last call alone.
void StreamOrder::record_other_work(Tail& tail) {
  if (device_.capture(tail.stream) != tail.capture) {
    const bool has_call = tail.capture == kNotCaptured || tail.record != nullptr;
    tail.last = has_call ? Tail::Last::call : Tail::Last::none;
    tail.stream_id = 0;
    return;
  }
  if (tail.other == nullptr) tail.other = device_.create_event();
  device_.record(*tail.other, tail.stream);
  tail.last = Tail::Last::recorded;
}

void StreamOrder::become_last(Tail& tail, Stream user) {
  device_.record(*tail.call, user);
  set_last(tail, Tail::Last::call, user);
  if (tail.capture == kNotCaptured) return;
  has_graphs_ = true;
  if (tail.record == nullptr) {
    tail.record = device_.record_at_launch(*last_.call, user);
  } else {
    tail.record->extend(user);
  }
}

void StreamOrder::record_part(Stream user) noexcept { try_record(device_, *last_.call, user); }

bool StreamOrder::runs() const { return !device_.done(*last_.call); }

void StreamOrder::order_other_work(Stream user) {
  const bool is_known =
      last_.last == Tail::Last::other && last_.stream == user && !is_of_thread(user);
  if (is_known && !captures_) return;
  Tail* const tail = tail_of_other_work(user);
  if (tail == nullptr) return;
  follow_calls(*tail, user);
  if (!is_known || tail != &last_) set_last(*tail, Tail::Last::other, user);
}

void StreamOrder::end_other_work(Stream user) {
  Tail* const tail = tail_of_other_work(user);
  if (tail != nullptr && tail->stream == user) record_other_work(*tail);
}

StreamOrder::Tail* StreamOrder::tail_of_other_work(Stream user) {
  const std::uint64_t capture = device_.capture(user);
  if (capture == kUnknownCapture || (!captures_ && capture != kNotCaptured)) return nullptr;
  return &tail_of_capture(capture);
}

void StreamOrder::fork(const std::vector<Stream>& streams) {
  if (streams.size() < 2) return;
  const std::unique_ptr<StreamEvent> event = device_.create_event();
  for (std::size_t i = 1; i < streams.size(); ++i) {
    device_.record(*event, streams[i]);
    device_.wait(streams[0], *event);
  }
}

void StreamOrder::join(const std::vector<Stream>& streams) {
  const Tail& tail = tail_of(streams[0]);
  for (Stream each : streams) {
    if (!is_on(tail, each)) device_.wait(each, *tail.call);
  }
}

}  // namespace duet::nccl_shim
