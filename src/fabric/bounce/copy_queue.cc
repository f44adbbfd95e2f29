#include "fabric/bounce/copy_queue.h"

#include <utility>

#include "core/deadline.h"
#include "core/error.h"

namespace duet {

CopyQueue::~CopyQueue() {
  try {
    stream_->synchronize(kDefaultDeadlineSeconds);
  } catch (const Error&) {  // whoever waits for the copies gets the error
  }
}

std::unique_ptr<Event> CopyQueue::take_event() {
  if (free_events_.empty()) return device_.make_event(EventUse::order);
  std::unique_ptr<Event> event = std::move(free_events_.back());
  free_events_.pop_back();
  return event;
}

void CopyQueue::start(const Span& destination, const Span& source, std::function<void()> then) {
  stream_->copy({destination, source, Executor::dma, {}});
  PendingCopy copy{take_event(), std::move(then)};
  stream_->record(*copy.end);
  in_flight_.push_back(std::move(copy));
}

bool CopyQueue::progress() {
  bool any = false;
  while (!in_flight_.empty() && in_flight_.front().end->done()) {
    PendingCopy ended = std::move(in_flight_.front());
    in_flight_.pop_front();
    free_events_.push_back(std::move(ended.end));
    ended.then();
    any = true;
  }
  return any;
}

}  // namespace duet
