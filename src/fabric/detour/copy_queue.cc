// One stream and an event a copy; see copy_queue.h.
#include "fabric/detour/copy_queue.h"

#include <utility>

#include "core/error.h"

namespace duet {
namespace {

constexpr double kLastCopiesSeconds = 60;

}  // namespace

CopyQueue::~CopyQueue() {
  try {
    stream_->synchronize(kLastCopiesSeconds);
  } catch (const Error&) {  // whoever waits for them hears of it
  }
}

std::unique_ptr<Event> CopyQueue::take_event() {
  if (free_.empty()) return device_.make_event(EventUse::order);
  std::unique_ptr<Event> event = std::move(free_.back());
  free_.pop_back();
  return event;
}

void CopyQueue::start(const Span& destination, const Span& source, std::function<void()> then) {
  stream_->copy({destination, source, Executor::dma, {}});
  UnderWay copy{take_event(), std::move(then)};
  stream_->record(*copy.end);
  under_way_.push_back(std::move(copy));
}

bool CopyQueue::turn() {
  bool any = false;
  while (!under_way_.empty() && under_way_.front().end->done()) {
    UnderWay ended = std::move(under_way_.front());
    under_way_.pop_front();
    free_.push_back(std::move(ended.end));
    ended.then();
    any = true;
  }
  return any;
}

}  // namespace duet
