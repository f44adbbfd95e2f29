// Streams and events of `host` and `sim`, whose calls can be captured.
#pragma once

#include <memory>

#include "device/recorded_calls.h"

namespace duet {

class RecordableEvent : public Event {
 private:
  friend class RecordableStream;
  std::weak_ptr<RecordedCalls> capture_;  // the capture in which the event was last recorded
  std::size_t recording_ = 0;
};

// Executes its calls at once or, during a capture, records them. An error in a recorded call is
// thrown when the graph is launched. All streams and events of a capture must be used by one
// thread.
class RecordableStream : public Stream {
 public:
  RecordableStream() = default;
  RecordableStream(const RecordableStream&) = delete;
  RecordableStream& operator=(const RecordableStream&) = delete;
  ~RecordableStream() override;

  void copy(const Copy& copy) final;
  void fill(const Span& span, const Fill& fill) final;
  void record(Event& event) final;
  void wait(Event& event) final;
  void signal(const Semaphore& semaphore, std::uint64_t value) final;
  void wait(const Semaphore& semaphore, std::uint64_t value) final;
  void launch(PreparedKernel& prepared) final;
  void run(const Task& task) final;

  void begin_capture() final;
  std::unique_ptr<Graph> end_capture() final;
  void abandon_capture() noexcept final;

  virtual int priority() const = 0;

 protected:
  // Throws BadArgument during a capture. For calls that query or wait for work, since a stream that
  // is being captured has no running work.
  void require_not_captured();

 private:
  virtual void enqueue_copy(const Copy& copy) = 0;
  virtual void enqueue_fill(const Span& span, const Fill& fill) = 0;
  virtual void enqueue_record(Event& event) = 0;
  virtual void enqueue_wait(Event& event) = 0;
  virtual void enqueue_signal(const Semaphore& semaphore, std::uint64_t value) = 0;
  virtual void enqueue_wait(const Semaphore& semaphore, std::uint64_t value) = 0;
  virtual void enqueue_launch(PreparedKernel& prepared) = 0;
  virtual void enqueue_run(const Task& task) = 0;

  std::shared_ptr<RecordedCalls> capture_;  // the capture that this stream is part of, or null
};

}  // namespace duet
