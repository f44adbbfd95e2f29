#include "device/recordable_stream.h"

#include <fmt/format.h>

#include "core/error.h"

namespace duet {

RecordableStream::~RecordableStream() {
  if (capture_ != nullptr) capture_->forget(*this);
}

void RecordableStream::copy(const Copy& copy) {
  if (copy.executor == Executor::sdma) refuse_sdma();
  if (capture_ == nullptr) return enqueue_copy(copy);
  capture_->call(*this, [copy](Stream& stream) { stream.copy(copy); });
}

void RecordableStream::fill(const Span& span, const Fill& fill) {
  if (capture_ == nullptr) return enqueue_fill(span, fill);
  capture_->call(*this, [span, fill](Stream& stream) { stream.fill(span, fill); });
}

void RecordableStream::signal(const Semaphore& semaphore, std::uint64_t value) {
  if (capture_ == nullptr) return enqueue_signal(semaphore, value);
  capture_->call(*this, [semaphore, value](Stream& stream) { stream.signal(semaphore, value); });
}

void RecordableStream::wait(const Semaphore& semaphore, std::uint64_t value) {
  if (capture_ == nullptr) return enqueue_wait(semaphore, value);
  capture_->call(*this, [semaphore, value](Stream& stream) { stream.wait(semaphore, value); });
}

void RecordableStream::launch(PreparedKernel& prepared) {
  if (capture_ == nullptr) return enqueue_launch(prepared);
  capture_->call(*this, [&prepared](Stream& stream) { stream.launch(prepared); });
}

void RecordableStream::run(const Task& task) {
  if (capture_ == nullptr) return enqueue_run(task);
  capture_->call(*this, [task](Stream& stream) { stream.run(task); });
}

void RecordableStream::record(Event& event) {
  auto* own = dynamic_cast<RecordableEvent*>(&event);
  if (capture_ == nullptr) {
    enqueue_record(event);
    // Writes capture_ only if it is set: several threads may use an event that is part of no
    // capture.
    if (own != nullptr && !own->capture_.expired()) own->capture_.reset();
    return;
  }
  if (own == nullptr) throw BadArgument("an event of another machine");
  own->recording_ = capture_->record(*this);
  own->capture_ = capture_;
}

void RecordableStream::wait(Event& event) {
  const auto* own = dynamic_cast<RecordableEvent*>(&event);
  const auto recorded_in = own != nullptr ? own->capture_.lock() : nullptr;
  if (recorded_in == nullptr && capture_ == nullptr) return enqueue_wait(event);
  if (recorded_in == nullptr || (capture_ != nullptr && capture_ != recorded_in)) {
    throw BadArgument(
        fmt::format("{}: a captured stream waits for an event that was not recorded in its capture",
                    device().info().name));
  }
  capture_ = recorded_in;
  capture_->wait(*this, own->recording_);
}

void RecordableStream::begin_capture() {
  require_not_captured();
  capture_ = std::make_shared<RecordedCalls>(*this);
}

std::unique_ptr<Graph> RecordableStream::end_capture() {
  if (capture_ == nullptr || !capture_->began_on(*this)) {
    throw BadArgument(fmt::format("{}: no capture began on this stream", device().info().name));
  }
  const std::shared_ptr<RecordedCalls> over = capture_;
  abandon_capture();
  return over->graph();
}

void RecordableStream::abandon_capture() noexcept {
  if (capture_ == nullptr) return;
  const std::shared_ptr<RecordedCalls> over = capture_;
  for (RecordableStream* stream : over->streams()) stream->capture_.reset();
}

void RecordableStream::require_not_captured() {
  if (capture_ == nullptr) return;
  throw BadArgument(fmt::format("{}: the stream is being captured", device().info().name));
}

}  // namespace duet
