#include "training/operations/forked_stream.h"

namespace duet {
namespace {

constexpr const char* kWait = "wait";  // of the main stream, in a timeline

}  // namespace

Stream& ForkedStream::fork(Stream& main) {
  Event& forked = next_event();
  main.record(forked);
  stream_->wait(forked);
  return *stream_;
}

void ForkedStream::run(Stream& main, const char* what,
                       const std::function<void(Stream&)>& enqueue) {
  Stream& own = fork(main);
  if (timeline_ != nullptr) timeline_->began_beside(own, what);
  enqueue(own);
  if (timeline_ != nullptr) timeline_->ended_beside(own);
}

void ForkedStream::wait(Stream& main, Event& marked) {
  main.wait(marked);
  if (timeline_ != nullptr) timeline_->ended(main, kWait);
}

Event& ForkedStream::mark() {
  Event& marked = next_event();
  stream_->record(marked);
  return marked;
}

void ForkedStream::join(Stream& main) {
  wait(main, mark());
  used_ = 0;
}

Event& ForkedStream::next_event() {
  if (used_ == events_.size()) events_.push_back(device_.make_event(EventUse::order));
  return *events_[used_++];
}

}  // namespace duet
