#include "training/forked_stream.h"

namespace duet {

Stream& ForkedStream::fork(Stream& main) {
  Event& forked = next_event();
  main.record(forked);
  stream_->wait(forked);
  return *stream_;
}

Event& ForkedStream::mark() {
  Event& marked = next_event();
  stream_->record(marked);
  return marked;
}

void ForkedStream::join(Stream& main) {
  Event& joined = mark();
  main.wait(joined);
  used_ = 0;
}

Event& ForkedStream::next_event() {
  if (used_ == events_.size()) events_.push_back(device_.make_event(EventUse::order));
  return *events_[used_++];
}

}  // namespace duet
